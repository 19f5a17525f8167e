internal import HTTPServing
internal import LosslessJSON

/// Sends the requested revisions of one document in order.
struct OpenRevisions: Sendable {
    let router: Router
    let id: String
    let options: DocumentOptions
    /// The ids of the remaining revisions.
    var names: ArraySlice<String>
    /// Nil if the answer is a JSON array.
    var parts: MultipartWriter?
    private var isFirst = true
    private var isClosed = false

    init(router: Router, id: String, options: DocumentOptions, names: ArraySlice<String>, parts: MultipartWriter?) {
        self.router = router
        self.id = id
        self.options = options
        self.names = names
        self.parts = parts
    }

    /// Reads the revisions once to determine the length of the answer. For a long answer they are read again when they
    /// are sent, so that only one is in memory at a time.
    func answer() throws -> Answer {
        let fields = [parts?.contentType("mixed") ?? .json]
        var (measured, length) = (self, 0)
        var body: BodyParts? = BodyParts()
        while let section = try measured.next() {
            length += section.length
            body?.append(section)
            if names.count > 1, let loaded = body?.loadedLength, loaded > BodyPieces.limit { body = nil }
        }
        if let body { return try Answer(fields: fields, body, from: router.store) }
        let kept = BufferedBytes()
        var answer = Answer(
            status: 200, fields: fields,
            body: .streamed { [self, length] send in
                var (sections, left) = (self, length)
                while let section = try sections.next() {
                    left -= section.length
                    // A revision was removed or changed meanwhile.
                    guard left >= 0 else { throw ConnectionCut() }
                    try await BodyPieces(section, from: router.store).send(send, counting: kept)
                }
                guard left == 0 else { throw ConnectionCut() }
            }, kept: kept)
        answer.length = length
        return answer
    }

    /// The next revision with its framing. Nil at the end.
    private mutating func next() throws -> BodyParts? {
        guard let name = names.popFirst() else { return end() }
        let found = try found(name)
        defer { isFirst = false }
        guard parts != nil else { return Self.line(found, name, opening: isFirst ? "[\n" : ",") }
        parts?.add(found, name, isForCouchDB: options.isForCouchDB)
        return parts?.take()
    }

    private mutating func end() -> BodyParts? {
        guard !isClosed else { return nil }
        isClosed = true
        guard parts != nil else { return BodyParts(Array((isFirst ? "[\n]" : "]").utf8)) }
        // CouchDB 3.5's replicator fails on anything after the last boundary.
        parts?.close(ending: options.isForCouchDB ? "" : "\r\n")
        return parts?.take()
    }

    private func found(_ name: String) throws -> OutgoingDocument? {
        do { return try router.store.outgoing(router.stored(id, revision: name), options) } catch is RequestError {
            return nil
        }
    }

    private static func line(_ found: OutgoingDocument?, _ name: String, opening: String) -> BodyParts {
        var line = BodyParts()
        if let found {
            line.append(opening + #"{"ok":"#)
            line.append(found.text)
        } else {
            var text = JSONWriter()
            text.escapedString(name)
            line.append(opening + #"{"missing":"#)
            line.append(text.bytes)
        }
        line.append("}\n")
        return line
    }
}

extension MultipartWriter {
    fileprivate mutating func add(_ found: OutgoingDocument?, _ name: String, isForCouchDB: Bool) {
        if let found { return found.write(to: &self, isForCouchDB: isForCouchDB) }
        var missing = JSONWriter()
        missing.object { $0.member("missing", escaped: name) }
        error(missing.bytes)
    }

    /// Writes a part that states why a document is missing.
    mutating func error(_ json: [UInt8]) {
        self.json(json, parameters: "; error=\"true\"")
    }
}
