internal import Locking

/// Limits the documents in the pipeline, by number and by bytes.
///
/// Documents that have been read are always admitted; further reading waits for room. So a document larger than the
/// whole budget is processed alone, and the budget is exceeded by at most one batch.
///
/// The sizes of documents that are read again are known only after they have arrived: see ``Reading``.
actor MemoryBudget {
    private let pool: MemoryPool
    private let share: MemoryPool.Member
    private let documentLimit: Int
    private var documents = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var waitingToRead: [CheckedContinuation<Void, Never>] = []
    /// The number of open ``Reading`` objects.
    private var readings = 0
    /// Whether a document of any size is being requested.
    private var readsAlone = false
    /// The room that the last such document took.
    private var lastAlone = 0
    /// How many times readers were woken.
    private(set) var wakes = 0

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
    func giveBack(bytes: Int, documents: Int) {
        self.documents -= documents
        share.add(-bytes)
        wakeReadings()
        if hasRoom { wake() } else { wakeWhenOthersMakeRoom() }
    }

    /// Other bots of the process can free bytes. Only this bot can free places for documents.
    private func wakeWhenOthersMakeRoom() {
        guard !waiting.isEmpty || !waitingToRead.isEmpty, !share.hasRoom else { return }
        share.whenRoomReturns { [weak self] in Task { await self?.wake() } }
    }

    private var hasRoom: Bool { documents < documentLimit && share.hasRoom }

    /// Returns once both limits have room.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before there is room.
    func room() async throws {
        while !hasRoom {
            try Task.checkCancellation()
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    waiting.append(continuation)
                    wakeWhenOthersMakeRoom()
                }
            } onCancel: {
                Task { await wake() }
            }
        }
    }

    private func wake() {
        let woken = waiting
        waiting = []
        wakes += woken.count
        for continuation in woken { continuation.resume() }
        wakeReadings()
    }

    // MARK: - Documents that are read again

    /// A task that reads documents again, from before its first request until it has released all documents.
    ///
    /// The documents are requested in portions, and take room when they arrive. Without room, no reading begins or
    /// continues, except that one may begin if no other task reads. So every document is read in the end. A task that
    /// holds one must not wait for another.
    final class Reading: Sendable {
        private let budget: MemoryBudget

        fileprivate init(_ budget: MemoryBudget) { self.budget = budget }

        deinit { Task { [budget] in await budget.endReading() } }
    }

    /// Documents that are requested together, and the room that is reserved for them until they arrive.
    struct Portion: Sendable {
        /// The longest answer, in bytes.
        let limit: Int
        /// Whether it is a single document of any size. Only one of these is requested at a time.
        let isAlone: Bool
        fileprivate let bytes: Int
    }

    /// The next portion of documents of unknown size.
    func portion(isAlone: Bool) -> Portion {
        let limit = min(2 << 20, max(1, pool.limit / 12))
        // It is probably as large as the previous one.
        let bytes = max(Content.copies * limit, isAlone ? lastAlone : 0)
        return Portion(limit: limit, isAlone: isAlone, bytes: bytes)
    }

    /// Waits for room for a first portion. ``end(_:bytes:)`` must follow.
    ///
    /// - Throws: `CancellationError`.
    func beginReading(_ portion: Portion) async throws -> Reading {
        while !mayRead(portion, isFirst: readings == 0) {
            try Task.checkCancellation()
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    waitingToRead.append(continuation)
                    wakeWhenOthersMakeRoom()
                }
            } onCancel: {
                Task { await wakeReadings() }
            }
        }
        readings += 1
        begin(portion)
        return Reading(self)
    }

    /// Reserves room for another portion of the same reading, if there is room now.
    ///
    /// - Returns: Whether the portion may be requested. Then ``end(_:bytes:)`` must follow.
    func continueReading(_ portion: Portion) -> Bool {
        guard mayRead(portion, isFirst: false) else { return false }
        begin(portion)
        return true
    }

    private func mayRead(_ portion: Portion, isFirst: Bool) -> Bool {
        (isFirst || share.hasRoom(for: portion.bytes)) && !(portion.isAlone && readsAlone)
    }

    private func begin(_ portion: Portion) {
        if portion.isAlone { readsAlone = true }
        share.add(portion.bytes)
    }

    /// A portion has arrived, or its request has failed.
    ///
    /// - Parameter bytes: How many bytes candidates hold in addition because of it.
    func end(_ portion: Portion, bytes: Int) {
        if portion.isAlone { (readsAlone, lastAlone) = (false, bytes) }
        giveBack(bytes: portion.bytes - bytes, documents: 0)
    }

    private func endReading() {
        readings -= 1
        wakeReadings()
    }

    private func wakeReadings() {
        let woken = waitingToRead
        waitingToRead = []
        for continuation in woken { continuation.resume() }
    }
}

/// The memory that the bots of a process share for documents in progress.
///
/// Half of it is divided among the bots in equal, exclusive parts, because a bot whose gateway is unavailable keeps its
/// memory and must not stop the others. The other half is shared.
package final class MemoryPool: Sendable {
    /// Bytes, for all bots together.
    package let limit: Int
    private let members = Locked<[Member]>([])

    /// - Parameter bytes: For all bots together.
    package init(bytes: Int) { limit = bytes }

    /// The part of one bot, until ``MemoryPool/leave(_:)``.
    package final class Member: Sendable {
        private let pool: MemoryPool
        private let state = Locked(State())

        private struct State {
            var bytes = 0
            var wake: (@Sendable () -> Void)?
        }

        fileprivate init(_ pool: MemoryPool) { self.pool = pool }

        /// Bytes that this bot holds.
        var bytes: Int { state.withLock(\.bytes) }

        /// Adds to what it holds; a negative number gives back, and may make room for others.
        func add(_ bytes: Int) {
            state.withLock { $0.bytes += bytes }
            if bytes < 0 { pool.wakeWaiting() }
        }

        var hasRoom: Bool { pool.hasRoom(self, for: 1) }

        func hasRoom(for bytes: Int) -> Bool { pool.hasRoom(self, for: bytes) }

        /// Calls `wake` once when there may be room again.
        func whenRoomReturns(_ wake: @escaping @Sendable () -> Void) {
            state.withLock { $0.wake = wake }
            // There may be room again by now.
            if hasRoom { wakeUp() }
        }

        fileprivate func wakeUp() {
            let wake = state.withLock { state in
                defer { state.wake = nil }
                return state.wake
            }
            wake?()
        }
    }

    func join() -> Member {
        let member = Member(self)
        members.withLock { $0.append(member) }
        return member
    }

    func leave(_ member: Member) {
        members.withLock { $0.removeAll { $0 === member } }
        wakeWaiting()
    }

    private func hasRoom(_ member: Member, for more: Int) -> Bool {
        members.withLock { members in
            let guaranteed = limit / 2 / max(1, members.count)
            if member.bytes + more <= guaranteed { return true }
            let common = members.reduce(0) { sum, other in
                sum + max(0, other.bytes + (other === member ? more : 0) - guaranteed)
            }
            return common <= limit - guaranteed * members.count
        }
    }

    private func wakeWaiting() {
        for member in members.withLock({ $0 }) where member.hasRoom { member.wakeUp() }
    }
}
