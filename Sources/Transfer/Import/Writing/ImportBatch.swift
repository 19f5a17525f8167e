internal import GatewayClient

/// Documents that are written together, in the order of the input.
struct ImportBatch: Sendable {
    /// Position among the batches of the pass, from 0.
    let number: Int
    let entries: [ImportEntry]
    /// How many documents of the input are finished once this batch and all before it are.
    let end: Int
    /// Counts of the documents that end in this batch.
    let counted: InputCounts
    let byteCount: Int
    /// Whether the batch does not end in the middle of what a mapping made of one document.
    let isWhole: Bool
}

/// The outcomes of a batch.
struct ImportResults: Sendable {
    private var recorded: [ImportOutcome?]
    /// The documents that would be written, by index of the entry; only in a dry run with a mapping.
    private(set) var documents: [Int: [UInt8]] = [:]

    /// - Parameter count: How many entries the batch has.
    init(count: Int) { recorded = Array(repeating: nil, count: count) }

    /// One for each entry.
    var outcomes: [ImportOutcome] { recorded.map { $0 ?? .rejected(reason: "it was not written") } }

    /// - Parameter index: That of the entry.
    mutating func record(_ outcome: ImportOutcome, at index: Int) { recorded[index] = outcome }

    mutating func show(_ document: [UInt8]?, at index: Int) { documents[index] = document }
}

/// A batch with its outcomes.
struct SettledBatch: Sendable {
    let batch: ImportBatch
    let results: ImportResults
}

/// Groups documents into batches, by count and bytes. A batch has no two writes of one document, unless their order
/// does not matter.
struct BatchAssembly {
    private let settings: ImportSettings
    private let mayRepeat: Bool
    private var number = 0
    private var entries: [ImportEntry] = []
    private(set) var ids: Set<DocumentID> = []
    private var byteCount = 0
    /// Documents of the input that are in batches or have nothing to write.
    private var end: Int
    private var counted = InputCounts()
    /// Whether the document of the last entry may have more entries.
    private var isWithinDocument = false

    /// - Parameters:
    ///   - start: How many documents of the input are finished already.
    ///   - mayRepeat: Whether one batch may have several revisions of a document.
    init(_ settings: ImportSettings, start: Int, mayRepeat: Bool = false) {
        self.settings = settings
        self.mayRepeat = mayRepeat
        end = start
    }

    /// Documents of the input since the last batch.
    private var passed = 0

    var isEmpty: Bool { entries.isEmpty && passed == 0 }

    /// Whether at least `count` documents had nothing to write.
    func isIdle(after count: Int) -> Bool { entries.isEmpty && passed >= count }

    /// Whether the entry must go into the next batch.
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

    /// Call when all entries of one document of the input were added.
    ///
    /// - Parameter counts: Nil if another pass counts the document.
    mutating func finishItem(_ counts: InputCounts?) {
        end += 1
        passed += 1
        isWithinDocument = false
        if let counts { counted += counts }
    }

    /// Returns the current batch and starts an empty one.
    mutating func makeBatch() -> ImportBatch {
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
