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
        if used < limit { wake() }
    }

    /// Returns once less than the limit is taken.
    ///
    /// - Throws: `CancellationError`, also if the task is cancelled while it waits.
    package func room() async throws {
        while used >= limit {
            try Task.checkCancellation()
            await withTaskCancellationHandler {
                await withCheckedContinuation { waiting.append($0) }
            } onCancel: {
                Task { await wake() }
            }
        }
    }

    private func wake() {
        let woken = waiting
        waiting = []
        for continuation in woken { continuation.resume() }
    }
}
