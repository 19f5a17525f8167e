/// Limits the documents in the pipeline, by number and by bytes.
///
/// What has been read is always admitted; further reading waits for room. So a document larger than the whole budget
/// passes, alone, and the budget is exceeded by at most one batch.
actor MemoryBudget {
    private let byteLimit: Int
    private let documentLimit: Int
    private var bytes = 0
    private var documents = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Both limits apply.
    init(bytes: Int, documents: Int) {
        byteLimit = bytes
        documentLimit = documents
    }

    /// What is taken now.
    var inUse: (bytes: Int, documents: Int) { (bytes, documents) }

    /// Takes room, even if there is none; never waits.
    func take(bytes: Int, documents: Int) {
        self.bytes += bytes
        self.documents += documents
    }

    /// Returns what was taken, and wakes readers if there is room again.
    func giveBack(bytes: Int, documents: Int) {
        self.bytes -= bytes
        self.documents -= documents
        if hasRoom { wake() }
    }

    private var hasRoom: Bool { bytes < byteLimit && documents < documentLimit }

    /// Returns once both limits have room.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before there is room.
    func room() async throws {
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
