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
