import LosslessJSON
import Testing

@testable import Transfer

/// Grouping of documents, and the places where an import can resume.
@Suite struct ImportBatchTests {
    private static func entry(_ ordinal: Int) -> ImportEntry {
        .refused(ImportOrigin(ordinal: ordinal, line: ordinal + 1, source: .json([])), id: nil, reason: "no")
    }

    private static let counts = {
        var counts = InputCounts()
        counts.documents = 1
        counts.matched = 1
        return counts
    }()

    private func settings(_ documents: Int) -> ImportSettings {
        var settings = ImportSettings()
        settings.batchDocuments = documents
        return settings
    }

    @Test func brokenDocumentIsReadButNotMatched() {
        let error = SourceDocumentError(
            reason: .notAnObject, place: TextPlace(), start: TextPlace(), text: [], isTruncated: false)
        let counts = InputCounts(.error(error), nil, isSelected: true)
        #expect(counts.documents == 1)
        #expect(counts.matched == 0)
    }

    /// A mapping makes several documents of one. A batch may end between them, but an import must not resume there.
    @Test(arguments: [(1, false), (2, true)]) func batchEndingWithinDocumentIsNotWhole(outputs: Int, isWhole: Bool) {
        var assembly = BatchAssembly(settings(2), start: 5)
        for _ in 0..<outputs { assembly.add(Self.entry(5)) }
        if isWhole { assembly.finishItem(Self.counts) }
        let batch = assembly.makeBatch()
        #expect(batch.isWhole == isWhole)
        #expect(batch.end == (isWhole ? 6 : 5))
        #expect(batch.entries.count == outputs)
        assembly.finishItem(Self.counts)
        #expect(assembly.makeBatch().isWhole)
    }

    @Test func batchIsFullByCount() {
        var assembly = BatchAssembly(settings(2), start: 0)
        for ordinal in 0..<2 {
            #expect(!assembly.isFull(for: Self.entry(ordinal)))
            assembly.add(Self.entry(ordinal))
            assembly.finishItem(Self.counts)
        }
        #expect(assembly.isFull(for: Self.entry(2)))
        let batch = assembly.makeBatch()
        #expect(batch.number == 0 && batch.end == 2 && batch.counted.documents == 2)
        #expect(assembly.isEmpty)
    }

    @Test func progressIsReadAsWritten() throws {
        let identity = ImportIdentity(
            input: .init(size: 7, changed: 1_795_168_800_123_456_789, head: "ab"), target: "http://x/todo",
            mode: .upsert, mapping: "cd", schema: .todo, selector: #"{"type":"task"}"#)
        var progress = ImportProgress(identity, now: 3)
        progress.pass = 2
        progress.items = 40
        (progress.input.documents, progress.input.matched, progress.input.rules) = (39, 4, ["a": 3, "b \"": 1])
        (progress.counts.inserted, progress.counts.changed, progress.counts.unchanged) = (11, 12, 13)
        progress.counts.rejected = 3
        progress.rejects = .init(documentBytes: 100, reasonBytes: 200)
        #expect(try #require(ImportProgress(progress.json)) == progress)
        // A duplicate member would be read once.
        #expect(try JSONText(progress.json).root.duplicateMemberName == nil)
    }
}
