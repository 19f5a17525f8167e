package import GatewayClient
package import LosslessJSON

/// Documents in conflict, and old revisions that a policy needs, in an unnamed temporary file.
///
/// Each entry takes about 40 bytes of memory. The file disappears with the process.
package actor ConflictSpool {
    private struct Place {
        let start: Int
        let byteCount: Int
    }

    private let file: OpenFile
    private var end = 0
    private var documents: [Place] = []
    private var revisions: [BulkGetKey: Place] = [:]

    /// - Throws: ``TransferError``: `.cannotCreate`.
    package init() throws(TransferError) { file = try OpenFile(temporaryIn: FileOperations.temporaryDirectory) }

    package var count: Int { documents.count }

    /// - Throws: ``TransferError``: `.cannotWrite`.
    package func add(_ document: ChangedDocument) throws(TransferError) {
        var line = JSONWriter()
        line.array { line in
            line.string(document.id.text)
            for revision in document.revisions { line.string(revision.text) }
        }
        documents.append(try append(line.bytes))
    }

    /// - Throws: ``TransferError``: `.cannotWrite`.
    package func add(_ revision: JSONText, _ key: BulkGetKey) throws(TransferError) {
        guard revisions[key] == nil else { return }
        revisions[key] = try append(revision.bytes)
    }

    /// - Throws: ``TransferError``.
    package func document(at index: Int) throws -> ChangedDocument? {
        let texts = try JSONText(try bytes(at: documents[index])).root.elements.compactMap(\.string)
        return texts.first.map {
            ChangedDocument(id: DocumentID($0), revisions: texts.dropFirst().map { RevisionID($0) })
        }
    }

    /// - Throws: ``TransferError``.
    package func revision(_ key: BulkGetKey) throws -> JSONText? {
        guard let place = revisions[key] else { return nil }
        return try JSONText(try bytes(at: place))
    }

    private func append(_ bytes: [UInt8]) throws(TransferError) -> Place {
        try file.seek(to: end)
        try file.write(bytes)
        defer { end += bytes.count }
        return Place(start: end, byteCount: bytes.count)
    }

    private func bytes(at place: Place) throws(TransferError) -> [UInt8] {
        try file.seek(to: place.start)
        var bytes: [UInt8] = []
        while bytes.count < place.byteCount {
            let piece = try file.read(upTo: place.byteCount - bytes.count)
            guard !piece.isEmpty else {
                throw TransferError(.cannotWrite, "can't read \(file.path): it is shorter than before")
            }
            bytes += piece
        }
        return bytes
    }
}
