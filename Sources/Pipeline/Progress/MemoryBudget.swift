/// How many bytes of documents may be on their way at once.
///
/// What has been read is always admitted; reading on waits until there is room. So a document larger than the whole
/// budget passes, alone, and the budget is overrun by at most one batch.
package actor MemoryBudget {
    private let limit: Int
    private var used = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// - Parameter limit: Bytes.
    package init(limit: Int) { self.limit = limit }

    package func take(_ byteCount: Int) { used += byteCount }

    package func give(back byteCount: Int) {
        used -= byteCount
        guard used < limit else { return }
        let resumed = waiting
        waiting = []
        resumed.forEach { $0.resume() }
    }

    /// Returns once less than the limit is taken. What is taken is on its way and comes back, whether it is written
    /// or set aside; a cancelled task therefore need not be woken.
    package func room() async {
        while used >= limit {
            await withCheckedContinuation { waiting.append($0) }
        }
    }
}
