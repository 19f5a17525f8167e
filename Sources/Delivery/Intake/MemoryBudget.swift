internal import Locking

/// Limits the documents in the pipeline, by number and by bytes.
///
/// Documents that have been read are always admitted; further reading waits for room. So a document larger than the
/// whole budget is processed alone, and the budget is exceeded by at most one batch.
///
/// The sizes of documents that are read by their ids are known only after they have arrived: see ``Reading``.
actor MemoryBudget {
    private let pool: MemoryPool
    private let share: MemoryPool.Member
    private let documentLimit: Int
    private var documents = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var waitingToRead: [CheckedContinuation<Void, Never>] = []
    /// The number of open ``Reading`` objects.
    private var readings: [Purpose: Int] = [:]
    /// The room that targets take or have reserved.
    private var targetBytes = 0
    /// Whether a document of any size is being requested.
    private var isReadingLargeDocument = false
    /// The room that the last such document took.
    private var largeDocumentBytes = 0
    /// How many times readers were woken.
    private(set) var wakeCount = 0

    /// Both limits apply.
    ///
    /// - Parameter pool: Limits the bytes, of this run and of others.
    init(_ pool: MemoryPool, documents: Int) {
        self.pool = pool
        share = pool.join()
        documentLimit = documents
    }

    deinit { pool.leave(share) }

    /// The room in use.
    var inUse: (bytes: Int, documents: Int) { (share.bytes, documents) }

    /// Takes room even if the limits are exceeded. Never waits.
    func take(bytes: Int, documents: Int) {
        share.add(bytes)
        self.documents += documents
    }

    /// Returns room, and wakes readers if there is enough again.
    func returnRoom(bytes: Int, documents: Int) {
        guard !InjectedFault.leakedMemory.isActive else { return }
        self.documents -= documents
        share.add(-bytes)
        wakeReadings()
        if hasRoom { wake() } else { wakeWhenOthersFreeMemory() }
    }

    /// Other bots of the process can free bytes. Only this bot can free places for documents.
    private func wakeWhenOthersFreeMemory() {
        guard !waiting.isEmpty || !waitingToRead.isEmpty, !share.hasRoom else { return }
        share.whenMemoryIsFreed { [weak self] in Task { await self?.wake() } }
    }

    private var hasRoom: Bool { documents < documentLimit && share.hasRoom }

    /// Returns once both limits have room.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before there is room.
    func room() async throws {
        while !hasRoom {
            try Task.checkCancellation()
            await withTaskCancellationHandler {
                await withNamedContinuation("room in the memory budget") { continuation in
                    waiting.append(continuation)
                    wakeWhenOthersFreeMemory()
                }
            } onCancel: {
                Task { await wake() }
            }
        }
    }

    private func wake() {
        let woken = waiting
        waiting = []
        wakeCount += woken.count
        for continuation in woken { continuation.resume() }
        wakeReadings()
    }

    // MARK: - Documents that are read by their ids

    /// Why documents are read. A task that holds some may wait only for room for a later purpose.
    enum Purpose {
        /// They are decided.
        case candidates
        /// They are all leaves of candidates in conflict.
        case leaves
        /// They were computed by rules from a single document, and are larger than a portion.
        case results
        /// They were computed by rules from several documents, and are smaller. They need not wait for room.
        case smallResults
        /// They were computed by actions on a single related document, and are larger than a portion.
        case relatedResults
        /// Rules change them.
        case targets
    }

    /// A task that reads documents, from before its first request until it has released all documents.
    ///
    /// The documents are requested in portions, and take room when they arrive. Without room, no reading begins or
    /// continues, except that one may begin if no other task reads for the same purpose. So every document is read in
    /// the end. A task that holds one must not wait for another of the same purpose.
    final class Reading: Sendable {
        private let budget: MemoryBudget
        private let purpose: Purpose
        /// The room that its documents take. Candidates return theirs themselves.
        fileprivate let ownBytes = Locked(0)

        fileprivate init(_ budget: MemoryBudget, _ purpose: Purpose) { (self.budget, self.purpose) = (budget, purpose) }

        deinit {
            Task { [budget, purpose, bytes = ownBytes.withLock(\.self)] in
                await budget.endReading(purpose, ownBytes: bytes)
            }
        }
    }

    /// Documents that are requested together, and the room that is reserved for them until they arrive.
    struct Portion: Sendable {
        /// The longest answer, in bytes.
        let limit: Int
        /// Whether it is a single document of any size. Only one of these is requested at a time.
        let isSingle: Bool
        fileprivate let purpose: Purpose
        fileprivate let bytes: Int
    }

    /// The longest answer with several documents, in bytes.
    nonisolated var portionLimit: Int { min(2 << 20, max(1, pool.limit / 12)) }

    /// The next portion of documents of unknown size.
    func portion(of purpose: Purpose, isSingle: Bool) -> Portion {
        // It is probably as large as the previous one.
        let bytes = max(Content.copies * portionLimit, isSingle ? largeDocumentBytes : 0)
        return Portion(limit: portionLimit, isSingle: isSingle, purpose: purpose, bytes: bytes)
    }

    /// Waits for room for a first portion. ``end(_:bytes:of:)`` must follow.
    ///
    /// - Throws: `CancellationError`.
    func beginReading(_ portion: Portion) async throws -> Reading {
        while !mayRead(portion, isFirst: readings[portion.purpose, default: 0] == 0) {
            try Task.checkCancellation()
            await withTaskCancellationHandler {
                await withNamedContinuation("memory to read a document") { continuation in
                    waitingToRead.append(continuation)
                    wakeWhenOthersFreeMemory()
                }
            } onCancel: {
                Task { await wakeReadings() }
            }
        }
        readings[portion.purpose, default: 0] += 1
        begin(portion)
        return Reading(self, portion.purpose)
    }

    /// Reserves room for another portion of the same reading, if there is room now.
    ///
    /// - Returns: Whether the portion may be requested. Then ``end(_:bytes:of:)`` must follow.
    func continueReading(_ portion: Portion) -> Bool {
        guard mayRead(portion, isFirst: false) else { return false }
        begin(portion)
        return true
    }

    private func mayRead(_ portion: Portion, isFirst: Bool) -> Bool {
        if portion.isSingle, isReadingLargeDocument { return false }
        if portion.purpose == .relatedResults { return isFirst }
        return isFirst || share.hasRoom(for: portion.bytes) || isReservedForTargets(portion)
    }

    /// While a backlog fills the budget, all writers still read small targets concurrently: two portions need no room.
    private func isReservedForTargets(_ portion: Portion) -> Bool {
        portion.purpose == .targets && targetBytes + portion.bytes <= 2 * Content.copies * portionLimit
    }

    private func begin(_ portion: Portion) {
        if portion.isSingle { isReadingLargeDocument = true }
        if portion.purpose == .targets { targetBytes += portion.bytes }
        share.add(portion.bytes)
    }

    /// A portion has arrived, or its request has failed.
    ///
    /// - Parameters:
    ///   - bytes: How much room its documents take.
    ///   - reading: Holds their room, unless they are candidates.
    func end(_ portion: Portion, bytes: Int, of reading: Reading) {
        if portion.isSingle { (isReadingLargeDocument, largeDocumentBytes) = (false, bytes) }
        if portion.purpose == .targets { targetBytes += bytes - portion.bytes }
        if portion.purpose != .candidates { reading.ownBytes.withLock { $0 += bytes } }
        returnRoom(bytes: portion.bytes - bytes, documents: 0)
    }

    private func endReading(_ purpose: Purpose, ownBytes bytes: Int) {
        readings[purpose, default: 0] -= 1
        if purpose == .targets { targetBytes -= bytes }
        returnRoom(bytes: bytes, documents: 0)
    }

    /// Waits until no other task computes large effects of a related document.
    ///
    /// - Throws: `CancellationError`.
    func beginRelatedResults() async throws -> Reading {
        let portion = Portion(limit: portionLimit, isSingle: false, purpose: .relatedResults, bytes: 0)
        let reading = try await beginReading(portion)
        end(portion, bytes: 0, of: reading)
        return reading
    }

    /// Takes room for what rules have computed from documents, even if the limits are exceeded. Never waits.
    func hold(bytes: Int) -> Reading {
        share.add(bytes)
        readings[.smallResults, default: 0] += 1
        let reading = Reading(self, .smallResults)
        reading.ownBytes.withLock { $0 = bytes }
        return reading
    }

    private func wakeReadings() {
        let woken = waitingToRead
        waitingToRead = []
        for continuation in woken { continuation.resume() }
    }
}
