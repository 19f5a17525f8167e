internal import GatewayClient
internal import LosslessJSON

/// Converts documents of a keyspace into values of a type.
struct DocumentReading<Document: DocumentCodable>: Sendable {
    /// Whether every document of the keyspace has this type, so that `type` may be omitted.
    let isCollection: Bool

    /// Whether the document has this type.
    func hasType(_ document: JSONValue) -> Bool {
        guard let type = Document.documentType else { return true }
        return document["type"].map { $0.isString(type) } ?? isCollection
    }

    /// - Parameters:
    ///   - id: The id for errors, in case the document has none.
    ///   - document: The document with `_id` and `_rev`.
    func read(
        _ document: JSONValue, id: DocumentID, revision: RevisionID?
    ) -> Result<Document, DocumentDecodingError> {
        do throws(TypeMismatch) {
            guard hasType(document) else {
                throw TypeMismatch(
                    in: document, at: [TypeKey.type], expected: "\"\(Document.documentType ?? "")\"")
            }
            var value = try DocumentDecoder().decode(Document.self, from: document)
            // Coding keys may omit the origin. Without it, a save would create a new document.
            if value.origin.text == nil, let origin = DocumentOrigin(of: document) { value.origin = origin }
            return .success(value)
        } catch {
            let revision = revision ?? document["_rev"]?.string.map { RevisionID($0) }
            return .failure(DocumentDecodingError(id, revision, error))
        }
    }

    private enum TypeKey: String, CodingKey { case type }
}
