internal import GatewayClient

/// Documents that are written together, in the order of the input.
struct ImportBatch: Sendable {
    /// Counts batches of a pass from 0.
    let number: Int
    let entries: [ImportEntry]
    /// Documents of the input that are done with once this batch and all before it are.
    let end: Int
    /// What is counted with this batch.
    let counted: InputCounts
    let byteCount: Int
    /// Whether nothing of a document of the input is in it that has more to come.
    let isWhole: Bool

    func settled(_ results: ImportResults) -> SettledBatch {
        SettledBatch(
            number: number, entries: entries, results: results, end: end, counted: counted, isWhole: isWhole)
    }
}

/// What became of the entries of a batch.
struct ImportResults: Sendable {
    /// One for each entry.
    let outcomes: [ImportOutcome]
    /// What would be written, by the index of the entry, where a dry run is to show it.
    var documents: [Int: [UInt8]] = [:]
}

/// A batch, and what became of it.
struct SettledBatch: Sendable {
    let number: Int
    let entries: [ImportEntry]
    let results: ImportResults
    let end: Int
    let counted: InputCounts
    let isWhole: Bool
}

/// Puts documents together to batches, by count and by bytes. No batch has two writes of one document, unless their order
/// does not count.
struct BatchAssembly {
    private let settings: ImportSettings
    private let mayRepeat: Bool
    private var number = 0
    private var entries: [ImportEntry] = []
    private(set) var ids: Set<DocumentID> = []
    private var byteCount = 0
    /// Documents of the input that are in batches, or have none to be written.
    private var end: Int
    private var counted = InputCounts()
    /// Whether more may come of the document that the last entry came of.
    private var isWithinDocument = false

    /// - Parameters:
    ///   - start: Documents of the input that were done with before.
    ///   - mayRepeat: Whether one batch may have several revisions of a document.
    init(_ settings: ImportSettings, start: Int, mayRepeat: Bool = false) {
        self.settings = settings
        self.mayRepeat = mayRepeat
        end = start
    }

    /// Documents of the input that went by since the last batch.
    private var passed = 0

    var isEmpty: Bool { entries.isEmpty && passed == 0 }

    /// Whether so many documents went by with nothing to be written.
    func isIdle(after count: Int) -> Bool { entries.isEmpty && passed >= count }

    /// Whether a document must go into the next batch.
    func isFull(for entry: ImportEntry) -> Bool {
        guard !entries.isEmpty else { return false }
        if entries.count >= settings.batchDocuments || byteCount + entry.byteCount > settings.batchBytes { return true }
        return !mayRepeat && entry.id.map { ids.contains($0) } == true
    }

    mutating func add(_ entry: ImportEntry) {
        entries.append(entry)
        isWithinDocument = true
        byteCount += entry.byteCount
        if case .document(let document) = entry { ids.insert(document.id) }
    }

    /// All that came of one document of the input has been added.
    ///
    /// - Parameter counts: Nil if another pass counts it.
    mutating func finishItem(_ counts: InputCounts?) {
        end += 1
        passed += 1
        isWithinDocument = false
        if let counts { counted += counts }
    }

    /// The batch as it is; the next one is empty.
    mutating func take() -> ImportBatch {
        defer {
            number += 1
            entries = []
            ids = []
            byteCount = 0
            counted = InputCounts()
            passed = 0
        }
        return ImportBatch(
            number: number, entries: entries, end: end, counted: counted, byteCount: byteCount,
            isWhole: !isWithinDocument)
    }
}
