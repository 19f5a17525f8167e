internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import LosslessJSON
internal import Rules
internal import TodoChecks

/// The passes of one import, one after the other.
struct ImportRun {
    let settings: ImportSettings
    let reader: ImportReader
    let admission: DocumentAdmission
    let writer: ImportWriter
    let journal: ImportJournal
    let report: ImportReport
    let isStopped: Locked<Bool>
    let blobs: BlobMessages
    let beginning: ImportProgress

    /// - Throws: `SourceError`, after the last pass, if the input could not be read to its end.
    func run() async throws {
        var failure: SourceError?
        var orders = Set(0..<TodoSchema.orderCount)
        for (pass, purpose) in passes.enumerated() where pass >= beginning.pass {
            if case .order(let order) = purpose, !orders.contains(order) { continue }
            try await journal.begin(pass: pass)
            var current = ImportPass(purpose, from: await journal.progress.items, of: self)
            if let error = try await current.run() { failure = error }
            if isStopped.withLock({ $0 }) { return }
            if purpose == .check {
                orders = current.orders
                try await journal.check(isFinal: true)
            }
        }
        if let failure {
            try await journal.save()
            throw failure
        }
    }

    private var passes: [ImportPass.Purpose] {
        guard settings.schema != nil else { return [.all] }
        return [.check] + (0..<TodoSchema.orderCount).map { .order($0) }
    }
}

/// Reads the input once and writes the documents of this pass.
struct ImportPass {
    enum Purpose: Equatable, Sendable {
        /// Everything is written, in the order of the input.
        case all
        /// Nothing is written. Invalid documents are rejected, and the orders that occur are collected.
        case check
        /// Documents of this order are written; already rejected documents are skipped.
        case order(Int)
    }

    /// The maximum number of finished batches that may wait for an earlier batch.
    private static let window = 32
    /// Progress is also saved after this many documents with nothing to write.
    private static let idleItems = 10_000

    let purpose: Purpose
    /// The import that this pass belongs to.
    private let job: ImportRun

    /// The orders of the documents; filled by a check.
    private(set) var orders: Set<Int> = []
    private let builder: EntryBuilder
    private var losingLeaves = LosingLeafDetector()
    private let mayRepeat: Bool
    private var assembly: BatchAssembly
    /// Documents of the input read so far.
    private var ordinal = 0
    /// Documents that an earlier run has finished.
    private let start: Int

    /// How many batches are being written.
    private var inProgress = 0
    /// Bytes of batches that are being written or wait for an earlier batch.
    private var bytesHeld: Int { held.values.reduce(0, +) }
    /// Bytes by batch number.
    private var held: [Int: Int] = [:]
    private var idsInProgress: Set<DocumentID> = []
    private var begun = 0
    private var settled = 0

    /// - Parameter start: How many documents of the input are already finished.
    init(_ purpose: Purpose, from start: Int, of job: ImportRun) {
        self.purpose = purpose
        self.start = start
        self.job = job
        builder = EntryBuilder(job.settings, job.admission, now: job.beginning.now)
        mayRepeat = job.settings.mode == .restore && job.admission.dialect.keepsSeveralLeaves
        assembly = BatchAssembly(job.settings, start: start, mayRepeat: mayRepeat)
    }

    private typealias Work = ThrowingTaskGroup<SettledBatch, any Error>

    /// - Returns: Why the input could not be read to its end. Everything before that place is written.
    /// - Throws: `RunError`, `RunIsStopping`, ``TransferError``, `CancellationError`.
    mutating func run() async throws -> SourceError? {
        let size = try await job.reader.begin()
        return try await withThrowingTaskGroup { (group: inout Work) in
            let failure = try await feed(&group, size)
            while inProgress > 0 { try await recordNextBatch(&group) }
            return failure
        }
    }

    private mutating func feed(_ group: inout Work, _ size: Int?) async throws -> SourceError? {
        while !job.isStopped.withLock({ $0 }) {
            // Finish large batches before reading more.
            while bytesHeld > job.settings.byteBudget, inProgress > 0 { try await recordNextBatch(&group) }
            let chunk = await job.reader.next()
            try Task.checkCancellation()
            // When reading is stopped, the last item may be incomplete.
            if job.isStopped.withLock({ $0 }) { break }
            let mapped = await builder.map(chunk.items, skipping: start - ordinal)
            for (item, mapped) in zip(chunk.items, mapped) { try await add(item, mapped, chunk.header, &group) }
            expect(size, chunk)
            if chunk.isAtEnd || assembly.isIdle(after: Self.idleItems) { try await dispatch(&group) }
            if chunk.isAtEnd { return chunk.failure }
        }
        return nil
    }

    private mutating func add(
        _ item: SourceItem, _ mapped: MappingResult?, _ header: [UInt8]?, _ group: inout Work
    ) async throws {
        defer { ordinal += 1 }
        let isOmitted = isLosingLeaf(item)
        guard ordinal >= start else { return }
        var isLarge = false
        let entries = isOmitted ? [] : builder.entries(of: item, mapped, header: header, ordinal: ordinal)
        for entry in entries where isInThisPass(entry) {
            if assembly.isFull(for: entry) { try await dispatch(&group) }
            if let id = entry.id, idsInProgress.contains(id), !mayRepeat {
                // Two writes of one document must stay in order.
                try await dispatch(&group)
                while inProgress > 0 { try await recordNextBatch(&group) }
            }
            noteBlobs(of: entry)
            assembly.add(entry)
            isLarge = isLarge || entry.byteCount > job.settings.batchBytes
        }
        let isCounted = purpose == .all || purpose == .check
        assembly.finishItem(isCounted ? InputCounts(item, mapped, isSelected: !entries.isEmpty) : nil)
        if isLarge { try await dispatch(&group) }
    }

    /// Must also be called for the documents that an earlier run has finished.
    private mutating func isLosingLeaf(_ item: SourceItem) -> Bool {
        guard job.settings.mode != .restore, case .document(let document) = item else { return false }
        return losingLeaves.isLosingLeaf(document.text.root)
    }

    /// Whether this pass handles the entry.
    private mutating func isInThisPass(_ entry: ImportEntry) -> Bool {
        guard case .document(let document) = entry else { return purpose == .all || purpose == .check }
        switch purpose {
        case .all: return true
        case .check:
            orders.insert(job.admission.order(document))
            return false
        case .order(let order): return job.admission.order(document) == order
        }
    }

    /// Logs the Couchbase Lite blobs whose bytes a document lacks. In a merge, the gateway may still have them.
    private func noteBlobs(of entry: ImportEntry) {
        guard ![.delete, .merge].contains(job.settings.mode), case .document(let document) = entry,
            !document.isDeletion
        else { return }
        let problems = DocumentBlobs(document.text.root).problems { attachment in
            guard let data = attachment["data"], let base64 = try? InlineBase64(data) else { return nil }
            var digest = AttachmentDigest.Calculation(for: .syncGateway)
            InlineAttachment(document.text.bytes, base64).forEachPiece { digest.update($0) }
            return digest.digest().description
        }
        job.blobs.log(problems, of: document.id)
    }

    // MARK: - Batches

    private mutating func dispatch(_ group: inout Work) async throws {
        guard !assembly.isEmpty else { return }
        let batch = assembly.makeBatch()
        while inProgress > 0, !hasRoom(for: batch) { try await recordNextBatch(&group) }
        begun += 1
        inProgress += 1
        held[batch.number] = batch.byteCount
        for case .document(let document) in batch.entries { idsInProgress.insert(document.id) }
        let writer = job.writer
        group.addTask { SettledBatch(batch: batch, results: try await writer.write(batch)) }
    }

    private func hasRoom(for batch: ImportBatch) -> Bool {
        inProgress < job.settings.requests && begun - settled < Self.window
            && bytesHeld + batch.byteCount <= job.settings.byteBudget
    }

    private mutating func recordNextBatch(_ group: inout Work) async throws {
        guard let done = try await group.next() else { return }
        inProgress -= 1
        for entry in done.batch.entries {
            if case .document(let document) = entry { idsInProgress.remove(document.id) }
        }
        let taken = try await job.journal.record(done)
        for number in settled..<taken { held[number] = nil }
        settled = taken
        let sent = await job.writer.progress.counters
        job.report.update { state in
            state.counters.traffic.bytesOut = sent.traffic.bytesOut
            state.counters.traffic.writeRequests = sent.traffic.writeRequests
            state.counters.traffic.retries += sent.traffic.retries - state.retriedWrites
            state.retriedWrites = sent.traffic.retries
            state.counters.conflicts = sent.conflicts
        }
    }

    /// Estimates the number of documents from those read so far.
    private func expect(_ size: Int?, _ chunk: InputChunk) {
        let (bytesRead, bytesConsumed) = (chunk.bytesRead, chunk.bytesConsumed)
        let told = job.settings.format == nil ? chunk.format : nil
        let isNamed = job.settings.delimiter == .usual(in: job.settings.path)
        job.report.update { state in
            state.format = told
            state.delimiter = isNamed ? job.settings.delimiter : nil
            if purpose != .check { state.counters.traffic.bytesIn = max(state.counters.traffic.bytesIn, bytesRead) }
            switch purpose {
            case .check: break
            case .order: state.expected = state.counters.changes
            case .all:
                guard let size, bytesConsumed > 0, ordinal > 0 else { return }
                let share = Double(size) / bytesConsumed
                state.isEstimate = !chunk.isAtEnd
                state.expected = chunk.isAtEnd ? ordinal : max(ordinal, Int(min(Double(ordinal) * share, 1e15)))
            }
        }
    }
}

/// Groups documents into batches, by count and bytes. A batch has at most one write per document, unless the order of
/// its writes does not matter.
struct BatchAssembly {
    private let settings: ImportSettings
    private let mayRepeat: Bool
    private var number = 0
    private var entries: [ImportEntry] = []
    private var ids: Set<DocumentID> = []
    private var byteCount = 0
    /// Documents of the input that are in batches or need no write.
    private var end: Int
    private var counted = InputCounts()
    /// Whether the document of the last entry may have more entries.
    private var isWithinDocument = false

    /// - Parameters:
    ///   - start: How many documents of the input are already finished.
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

/// Documents that are written together, in the order of the input.
struct ImportBatch: Sendable {
    /// Position among the batches of the pass, from 0.
    let number: Int
    let entries: [ImportEntry]
    /// The number of input documents that are finished once this batch and all earlier ones are.
    let end: Int
    /// Counts of the documents that end in this batch.
    let counted: InputCounts
    let byteCount: Int
    /// Whether the batch ends at the end of an input document, not between documents that a mapping made from it.
    let isWhole: Bool
}

/// A batch with its outcomes.
struct SettledBatch: Sendable {
    let batch: ImportBatch
    let results: ImportResults
}
