internal import GatewayClient
internal import LosslessJSON

/// The currently matching documents, and the effect of a change on them. Memory: the id and the revision of each.
struct LiveQuery<Document: DocumentCodable> {
    private let reading: DocumentReading<Document>
    private var matching: [DocumentID: RevisionID?] = [:]

    init(_ reading: DocumentReading<Document>) { self.reading = reading }

    /// - Parameter isMatch: Whether the selector matches the row's document.
    mutating func take(_ row: FeedRow, isMatch: Bool) -> [LiveChange<Document>] {
        let known = matching[row.id]
        guard isMatch, case .document(let value) = row.content, reading.hasType(value) else {
            guard known != nil else { return [] }
            matching[row.id] = nil
            return [.removed(row.id)]
        }
        // After an interruption, the feed may deliver a change again.
        if let known, known == row.revision, row.revision != nil { return [] }
        switch reading.read(value, id: row.id, revision: row.revision) {
        case .success(let document):
            matching[row.id] = .some(row.revision)
            return [known == nil ? .inserted(document) : .updated(document)]
        case .failure(let error):
            matching[row.id] = nil
            return known == nil ? [.undecodable(error)] : [.removed(row.id), .undecodable(error)]
        }
    }
}
