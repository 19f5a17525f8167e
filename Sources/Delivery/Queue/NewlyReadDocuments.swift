internal import GatewayClient

/// The documents that were read by their ids since the source sent its request, or were being read then. The source's
/// answer may show what they were before, and an event about that must not follow one about what was read.
///
/// May contain others, see ``BloomFilter``. They are only read once more.
struct NewlyReadDocuments {
    /// Nil: the source's contents are never out of date, because it has none.
    private var read: BloomFilter?
    private var reading: Set<DocumentID> = []

    /// The source sends its request. What is in the answer is at least as new as what was read before.
    mutating func noteRequest() {
        var read = BloomFilter()
        for document in reading { read.insert(document.hashValue) }
        self.read = read
    }

    mutating func begin(_ document: DocumentID) {
        read?.insert(document.hashValue)
        reading.insert(document)
    }

    mutating func end(_ documents: [DocumentID]) { reading.subtract(documents) }

    func mayContain(_ document: DocumentID) -> Bool {
        guard let read, !read.isEmpty else { return false }
        return read.mayContain(document.hashValue)
    }
}
