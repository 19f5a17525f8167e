import Testing

@testable import Rules

/// `rules try`, `rules plan` and `rules play` decide documents in the same batches.
@Suite struct GatheredDocumentsTests {
    /// The numbers of documents in the batches of some documents with these lengths.
    private func batches(_ lengths: [Int]) -> [Int] {
        var gathered = GatheredDocuments<Int>()
        let full = lengths.compactMap { gathered.add($0, byteCount: $0)?.count }
        let rest = gathered.takeRest()
        #expect(gathered.takeRest() == [])
        return full + (rest.isEmpty ? [] : [rest.count])
    }

    @Test func batchIsFullByCountOrByLength() {
        let limit = GatheredDocuments<Int>.byteLimit
        #expect(batches([]) == [])
        #expect(batches([Int](repeating: 1, count: 600)) == [250, 250, 100])
        #expect(batches([limit, 1, 1]) == [2, 1])
        #expect(batches([limit + 1, limit + 1, 5]) == [1, 1, 1])
    }
}
