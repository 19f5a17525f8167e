/// How many documents, and how many bytes of them, may be on their way at once.
///
/// What has been read is always admitted; reading on waits until there is room. So a document larger than the whole
/// budget passes, alone, and the budget is overrun by at most one batch.
package actor MemoryBudget {
    private let byteLimit: Int
    private let documentLimit: Int
    private var bytes = 0
    private var documents = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []

    package init(bytes: Int, documents: Int) {
        byteLimit = bytes
        documentLimit = documents
    }

    package func take(bytes: Int, documents: Int) {
        self.bytes += bytes
        self.documents += documents
    }

    package func giveBack(bytes: Int, documents: Int) {
        self.bytes -= bytes
        self.documents -= documents
        if hasRoom { wake() }
    }

    private var hasRoom: Bool { bytes < byteLimit && documents < documentLimit }

    /// Returns once less than both limits is taken.
    ///
    /// - Throws: `CancellationError`, also if the task is cancelled while it waits.
    package func room() async throws {
        while !hasRoom {
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
