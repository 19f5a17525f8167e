/// Documents that are gathered until there are enough of them to be decided together.
///
/// `rules try`, `rules plan` and the page of `rules play` decide in such batches: large enough that the processes of jq
/// are busy, and small enough that the first results come soon and the documents fit in memory.
package struct GatheredDocuments<Document> {
    /// The maximum number of documents that are decided together.
    package static var countLimit: Int { 250 }
    /// A batch of more bytes is decided, however few its documents are.
    package static var byteLimit: Int { 4 << 20 }

    private var documents: [Document] = []
    private var byteCount = 0

    package init() {}

    /// Adds a document.
    ///
    /// - Parameter byteCount: The length of the document in bytes.
    /// - Returns: The batch if it is full. Nil: there is room for more.
    package mutating func add(_ document: Document, byteCount: Int) -> [Document]? {
        documents.append(document)
        self.byteCount += byteCount
        return documents.count >= Self.countLimit || self.byteCount > Self.byteLimit ? takeRest() : nil
    }

    /// The documents that were added since the last full batch. Empty if there are none.
    package mutating func takeRest() -> [Document] {
        defer { (documents, byteCount) = ([], 0) }
        return documents
    }
}
