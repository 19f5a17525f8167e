internal import Encodings
internal import GatewayClient
internal import LosslessJSON
internal import Rules
internal import TodoChecks

/// Makes the entries of each input item: maps it, drops what the selector does not match, and checks the rest. Each
/// pass has its own instance, because a mapping remembers the documents it has made.
struct EntryBuilder {
    private let mapper: Mapper?
    private let matcher: DocumentMatcher?
    private let admission: DocumentAdmission
    /// `$now` in programs of the mapping.
    private let now: Int

    init(_ settings: ImportSettings, _ admission: DocumentAdmission, now: Int) {
        mapper = settings.mapping?.makeMapper()
        matcher = settings.filter.map { DocumentMatcher($0) }
        self.admission = admission
        self.now = now
    }

    /// The results of the mapping; nil for skipped documents and without a mapping.
    ///
    /// - Parameter count: How many of the items an earlier run has finished.
    func map(_ items: [SourceItem], skipping count: Int) async -> [MappingResult?] {
        guard let mapper else { return items.map { _ in nil } }
        var wanted: [Int] = []
        var documents: [JSONText] = []
        for (index, item) in items.enumerated() where index >= count {
            guard case .document(let document) = item else { continue }
            wanted.append(index)
            documents.append(document.text)
        }
        var results = [MappingResult?](repeating: nil, count: items.count)
        for (index, result) in zip(wanted, await mapper.map(documents, now: now)) {
            results[index] = result
        }
        return results
    }

    /// The documents to write for one item; empty if it is left out.
    ///
    /// - Parameters:
    ///   - header: The header of the table if the item is a row.
    ///   - ordinal: The position of the item in the input.
    func entries(
        of item: SourceItem, _ mapped: MappingResult?, header: [UInt8]?, ordinal: Int
    ) -> [ImportEntry] {
        switch item {
        case .error(let error):
            let reason = error.isTruncated ? "\(error) (only its beginning is kept)" : "\(error)"
            let origin = ImportOrigin(
                ordinal: ordinal, line: error.line, source: .init(error.text, header: header))
            return [.refused(origin, id: nil, reason: reason)]
        case .document(let document):
            let origin = ImportOrigin(
                ordinal: ordinal, line: document.line,
                source: .init(document.original ?? document.bytes, header: header))
            guard let mapped else { return entry(of: document.text, origin).map { [$0] } ?? [] }
            if let error = mapped.error {
                let id = document.text.root["_id"]?.string.map { DocumentID($0) }
                return [
                    .refused(origin, id: id, reason: error.rule == nil ? "\(error)" : "the mapping fails: \(error)")
                ]
            }
            let own = document.text.root["_id"]?.string
            return mapped.documents.compactMap { output in
                guard let text = output.text else {
                    return .refused(
                        origin, id: DocumentID(output.id), reason: "the result of the mapping is not valid JSON")
                }
                return entry(of: text, origin, isShared: output.id != own)
            }
        }
    }

    /// Nil if the selector does not match.
    private func entry(of text: JSONText, _ origin: ImportOrigin, isShared: Bool = false) -> ImportEntry? {
        do {
            guard try matcher?.matches(text.root) != false else { return nil }
        } catch {
            let id = text.root["_id"]?.string.map { DocumentID($0) }
            return .refused(origin, id: id, reason: "the selector can't be evaluated: \(error)")
        }
        return admission.admit(text, origin, isShared: isShared)
    }
}

extension MappedDocument {
    /// The document with the attachments that the mapping added; nil if that is not valid JSON.
    fileprivate var text: JSONText? {
        attachments.isEmpty ? document : try? JSONText(Array(body.segments().joined()))
    }
}

/// Decides whether a document can be written, without asking the gateway.
struct DocumentAdmission: Sendable {
    let mode: ImportMode
    let schema: ImportSettings.Schema?
    let dialect: GatewayDialect
    /// The target's collection; nil for the default one.
    let collection: String?
    let store: AttachmentStore?
    let streamingThreshold: Int
    /// The delimiter between the cells of a table.
    private let delimiter: CSVDelimiter
    /// The rule of the mapping that sets an expiry; nil if none does.
    private let expiringRule: String?

    init(_ settings: ImportSettings, gateway: Gateway) {
        expiringRule = settings.mapping?.ruleSet.expiringRule
        mode = settings.mode
        schema = settings.schema
        dialect = gateway.dialect
        let parts = gateway.url.keyspace.pathSegment.split(separator: ".")
        collection = parts.count > 1 ? parts.last.map(String.init) : nil
        store = settings.attachments.map { AttachmentStore($0) }
        streamingThreshold = settings.streamingThreshold
        delimiter = settings.delimiter
    }

    func admit(_ text: JSONText, _ origin: ImportOrigin, isShared: Bool = false) -> ImportEntry {
        let id: DocumentID
        do throws(Refusal) { id = try self.id(of: text.root, origin) } catch {
            return .refused(origin, id: text.root["_id"]?.string.map { DocumentID($0) }, reason: error.reason)
        }
        do throws(Refusal) { return .document(try document(text, id, origin, isShared)) } catch {
            return .refused(origin, id: id, reason: error.reason)
        }
    }

    /// The pass in which a document is written. Documents that others refer to come first.
    func order(_ document: ImportDocument) -> Int {
        schema == nil ? 0 : TodoSchema.order(document.text.root, collection: collection)
    }

    private struct Refusal: Error {
        let reason: String
    }

    private func id(of document: JSONValue, _ origin: ImportOrigin) throws(Refusal) -> DocumentID {
        let advice = IDAdvice(origin.source, delimiter: delimiter)
        guard let value = document["_id"] else { throw Refusal(reason: advice.reasonWithoutID(document)) }
        guard let text = value.string else { throw Refusal(reason: advice.reason(for: value)) }
        if text.isEmpty { throw Refusal(reason: "its _id is empty") }
        if text.utf8.first == UInt8(ascii: "_"), !text.hasPrefix("_design/") {
            throw Refusal(reason: "its _id begins with '_'; only ids of design documents may")
        }
        if !dialect.acceptsNullInIDs, text.utf8.contains(0) {
            throw Refusal(reason: "its _id contains U+0000, which \(dialect.name) does not accept")
        }
        if !value.isText { throw Refusal(reason: "its _id has a lone surrogate") }
        if !dialect.hasDesignDocuments, text.hasPrefix("_design/") {
            throw Refusal(reason: "\(dialect.name) does not accept design documents; leave them out with --selector")
        }
        if let limit = dialect.maxIDLength, text.utf8.count > limit {
            throw Refusal(reason: "its _id has \(text.utf8.count) bytes; \(dialect.name) accepts at most \(limit)")
        }
        return DocumentID(text)
    }

    private func document(
        _ text: JSONText, _ id: DocumentID, _ origin: ImportOrigin, _ isShared: Bool
    ) throws(Refusal) -> ImportDocument {
        let root = text.root
        let isDeletion = root["_deleted"]?.bool == true
        if isDeletion, mode == .insert {
            throw Refusal(reason: "it is a tombstone, and there is nothing to insert; use --mode upsert or restore")
        }
        let revision = root["_rev"]?.string.map { RevisionID($0) }
        if mode == .restore, revision?.generation == nil {
            throw Refusal(reason: "it has no _rev to be restored; export with --revisions, or use --mode upsert")
        }
        try check(root)
        try checkMembers(root)
        var attachments: [ImportAttachment] = []
        if mode != .delete {
            do throws(AttachmentError) { attachments = try ImportAttachment.all(of: root, store: store) } catch {
                throw Refusal(reason: error.reason)
            }
            for attachment in attachments { try check(attachment) }
        }
        let isStreamed = mode != .restore && attachments.contains { $0.isStreamed(from: streamingThreshold) }
        return ImportDocument(
            origin: origin, id: id, text: text, revision: revision, isDeletion: isDeletion, attachments: attachments,
            isShared: isShared, isStreamed: isStreamed,
            byteCount: attachments.reduce(text.bytes.count) { $0 + $1.addedByteCount(isStreamed: isStreamed) })
    }

    /// Throws with all violations of the schema, on one line.
    private func check(_ document: JSONValue) throws(Refusal) {
        guard schema != nil, mode != .delete else { return }
        let violations = TodoSchema.check(document, collection: collection, hasAttachments: mode != .merge)
        guard violations.isEmpty else {
            throw Refusal(reason: violations.map(\.description).joined(separator: "; "))
        }
    }

    /// CouchDB refuses unknown members that begin with an underscore; Sync Gateway keeps them.
    private func checkMembers(_ document: JSONValue) throws(Refusal) {
        guard mode != .delete, let accepted = VersionMembers.accepted(by: dialect) else { return }
        for member in document.members {
            guard let name = member.name.utf8, name.first == UInt8(ascii: "_") else { continue }
            guard !accepted.contains(name) else { continue }
            if String(decoding: name, as: UTF8.self) == DocumentExpiry.member {
                let remedy =
                    expiringRule.map {
                        "remove the action 'expire' of the mapping's rule '\($0)', or write the date as a member with merge"
                    } ?? "a mapping (--map) can remove it, or turn it into another member"
                throw Refusal(
                    reason: "documents on \(dialect.name) can't expire, so it does not accept '_exp'; \(remedy)")
            }
            throw Refusal(
                reason: "\(dialect.name) does not accept the member '\(String(decoding: name, as: UTF8.self))': "
                    + "members that begin with '_' are reserved; a mapping (--map) can remove it")
        }
    }

    /// Refuses attachments that this mode can't write, such as stubs that can only be kept.
    private func check(_ attachment: ImportAttachment) throws(Refusal) {
        if attachment.name.isEmpty { throw Refusal(reason: "it has an attachment without a name") }
        if attachment.hasBadType {
            throw Refusal(reason: AttachmentError(attachment.name, "has a content_type that is not a string").reason)
        }
        switch (attachment.body, mode) {
        case (.stub(let missing), .insert), (.stub(let missing), .restore):
            throw Refusal(reason: attachment.bareStub(missing).reason)
        case (.removed, .merge): break
        case (.removed, _): throw Refusal(reason: AttachmentError(attachment.name, "is null").reason)
        default: break
        }
    }
}

/// The part of the input that a document came from.
struct ImportOrigin: Sendable {
    enum Source: Sendable {
        /// JSON, or text meant to be JSON.
        case json([UInt8])
        /// The row of a table, with the table's header.
        case row([UInt8], header: [UInt8])

        init(_ bytes: [UInt8], header: [UInt8]?) {
            self = header.map { .row(bytes, header: $0) } ?? .json(bytes)
        }

        var bytes: [UInt8] {
            switch self {
            case .json(let bytes), .row(let bytes, _): bytes
            }
        }
    }

    /// Position among the documents of the input, including broken ones, from 0.
    let ordinal: Int
    /// From 1.
    let line: Int
    let source: Source
}

/// A document of an import: ready to be written, or already refused.
enum ImportEntry: Sendable {
    case document(ImportDocument)
    case refused(ImportOrigin, id: DocumentID?, reason: String)

    var origin: ImportOrigin {
        switch self {
        case .document(let document): document.origin
        case .refused(let origin, _, _): origin
        }
    }

    /// Whether it is a tombstone.
    var isDeletion: Bool {
        if case .document(let document) = self { document.isDeletion } else { false }
    }

    var id: DocumentID? {
        switch self {
        case .document(let document): document.id
        case .refused(_, let id, _): id
        }
    }

    /// Bytes that it adds to a request. For a refused document, the bytes of its input.
    var byteCount: Int {
        switch self {
        case .document(let document): document.byteCount
        case .refused(let origin, _, _): origin.source.bytes.count
        }
    }
}

/// A document that can be written, as far as that is known without asking the gateway.
struct ImportDocument: Sendable {
    let origin: ImportOrigin
    let id: DocumentID
    /// Includes `_id`. Its version members are used only in ``ImportMode/restore``.
    var text: JSONText
    /// Its `_rev`; never nil in a restore.
    let revision: RevisionID?
    let isDeletion: Bool
    var attachments: [ImportAttachment]
    /// A mapping made its id, possibly from several documents. It is therefore not a conflict if it exists.
    let isShared: Bool
    /// It is sent in a separate request, and its attachments are streamed.
    let isStreamed: Bool
    /// Bytes that it adds to a request.
    let byteCount: Int

    /// Whether an attachment has no bytes, so that the gateway must already have it.
    var hasBareStubs: Bool { attachments.contains { $0.isStub } }
}
