internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// Makes the entries of each item of the input: maps it, leaves out what the selector does not match, and admits the
/// rest. One for each pass, because a mapping remembers what it has made.
struct EntryMaker {
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

    /// The results of the mapping; nil for skipped documents, and if there is no mapping.
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

    /// What is written of one item; empty if it is left out.
    ///
    /// - Parameters:
    ///   - header: The header of the table that the item is a row of.
    ///   - ordinal: The position of the item in the input.
    func entries(
        of item: SourceItem, _ mapped: MappingResult?, header: [UInt8]?, ordinal: Int
    ) -> [ImportEntry] {
        switch item {
        case .error(let error):
            let reason = error.isCut ? "\(error) (only its beginning is kept)" : "\(error)"
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
            return mapped.documents.compactMap { output in
                guard let text = output.text else {
                    return .refused(
                        origin, id: DocumentID(output.id), reason: "the mapping does not make valid JSON of it")
                }
                return entry(of: text, origin, isShared: true)
            }
        }
    }

    /// Nil if the selector does not match.
    private func entry(of text: JSONText, _ origin: ImportOrigin, isShared: Bool = false) -> ImportEntry? {
        do {
            guard try matcher?.matches(text.root) != false else { return nil }
        } catch {
            let id = text.root["_id"]?.string.map { DocumentID($0) }
            return .refused(origin, id: id, reason: "the selector can't be decided: \(error)")
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
