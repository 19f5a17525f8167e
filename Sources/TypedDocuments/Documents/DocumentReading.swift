internal import GatewayClient
internal import LosslessJSON

/// Turns documents of a keyspace into values of a type.
struct DocumentReading<Document: DocumentCodable>: Sendable {
    /// Whether every document of the keyspace has this type: `type` may then be left out.
    let isCollection: Bool

    /// Whether the type is meant.
    func isOfType(_ document: JSONValue) -> Bool {
        guard let type = Document.documentType else { return true }
        return document["type"].map { $0.isString(type) } ?? isCollection
    }

    /// - Parameters:
    ///   - id: For errors, should the document have none.
    ///   - document: With `_id` and `_rev`.
    func read(
        _ document: JSONValue, id: DocumentID, revision: RevisionID?
    ) -> Result<Document, DocumentDecodingError> {
        do throws(Misfit) {
            guard isOfType(document) else {
                throw Misfit(
                    in: document, at: [TypeKey.type], expected: "\"\(Document.documentType ?? "")\"")
            }
            var value = try DocumentDecoder().decode(Document.self, from: document)
            // Coding keys may leave it out. Without it, a save would make a new document.
            if value.origin.text == nil, let origin = DocumentOrigin(of: document) { value.origin = origin }
            return .success(value)
        } catch {
            let revision = revision ?? document["_rev"]?.string.map { RevisionID($0) }
            return .failure(DocumentDecodingError(id, revision, error))
        }
    }

    private enum TypeKey: String, CodingKey { case type }
}
