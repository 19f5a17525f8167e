internal import Locking

/// Limits the documents in the pipeline, by number and by bytes.
///
/// What has been read is always admitted; further reading waits for room. So a document larger than the whole budget
/// passes, alone, and the budget is exceeded by at most one batch.
actor MemoryBudget {
    private let pool: MemoryPool
    private let share: MemoryPool.Member
    private let documentLimit: Int
    private var documents = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []
    /// How often readers have been woken.
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

    /// What is taken now.
    var inUse: (bytes: Int, documents: Int) { (share.bytes, documents) }

    /// Takes room, even if there is none; never waits.
    func take(bytes: Int, documents: Int) {
        share.add(bytes)
        self.documents += documents
    }

    /// Returns what was taken, and wakes readers if there is room again.
    func giveBack(bytes: Int, documents: Int) {
        self.documents -= documents
        share.add(-bytes)
        if hasRoom { wake() } else { wakeWhenOthersMakeRoom() }
    }

    /// Other bots of the process may make room for bytes; for documents only this one can.
    private func wakeWhenOthersMakeRoom() {
        guard !waiting.isEmpty, !share.hasRoom else { return }
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
    }
}

/// The memory that the bots of a process share for documents in progress.
///
/// Half of it is divided among the bots in equal parts, which are theirs alone: a bot whose gateway is away keeps what
/// it holds, and must not stop the others. The other half is for whoever needs it.
package final class MemoryPool: Sendable {
    /// Bytes, for all bots together.
    package let limit: Int
    private let members = Locked<[Member]>([])

    /// - Parameter bytes: For all bots together.
    package init(bytes: Int) { limit = bytes }

    /// The part of one bot, until ``MemoryPool/leave(_:)``.
    final class Member: Sendable {
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

        var hasRoom: Bool { pool.hasRoom(self) }

        /// Calls `wake` once when there may be room again.
        func whenRoomReturns(_ wake: @escaping @Sendable () -> Void) {
            state.withLock { $0.wake = wake }
            // It may have come back in between.
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

    private func hasRoom(_ member: Member) -> Bool {
        members.withLock { members in
            let guaranteed = limit / 2 / max(1, members.count)
            let used = member.bytes
            if used < guaranteed { return true }
            let common = members.reduce(0) { $0 + max(0, $1.bytes - guaranteed) }
            return common < limit - guaranteed * members.count
        }
    }

    private func wakeWaiting() {
        for member in members.withLock({ $0 }) where hasRoom(member) { member.wakeUp() }
    }
}
