internal import Locking

/// The memory that the bots of a process share for documents in progress.
///
/// Half of it is divided among the bots in equal, exclusive parts, because a bot whose gateway is unavailable keeps its
/// memory and must not stop the others. The other half is shared.
package final class MemoryPool: Sendable {
    /// Bytes, for all bots together.
    package let limit: Int
    private let members = Locked<[Member]>([])
    private let use = Locked((now: 0, most: 0))

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
            pool.note(bytes)
            if bytes < 0 { pool.wakeWaiting() }
        }

        var hasRoom: Bool { pool.hasRoom(self, for: 1) }

        func hasRoom(for bytes: Int) -> Bool { pool.hasRoom(self, for: bytes) }

        /// Calls `wake` once when there may be room again.
        func whenMemoryIsFreed(_ wake: @escaping @Sendable () -> Void) {
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
        note(-member.bytes)
        wakeWaiting()
    }

    /// How many bytes all bots hold.
    package var bytesInUse: Int { use.withLock(\.now) }

    /// The maximum number of bytes that all bots held at the same time so far.
    package var peakUse: Int { use.withLock(\.most) }

    private func note(_ bytes: Int) {
        use.withLock { use in
            use.now += bytes
            use.most = max(use.most, use.now)
        }
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
