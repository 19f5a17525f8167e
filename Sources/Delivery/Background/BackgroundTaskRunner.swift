internal import DocumentFlow
internal import Locking
internal import ServiceLifecycle

/// Runs the background tasks of a process that reads the feed itself.
struct BackgroundTaskRunner: Sendable {
    let factories: [BackgroundTask.Factory]
    let flow: CandidateFlow
    /// Whether the run finishes the remaining work at its end.
    let endsOnceSettled: Bool

    /// Reads, with the background tasks, each in its own task. Then finishes the remaining work.
    ///
    /// - Throws: Errors of `read` and of the background tasks.
    func run(whileReading read: @escaping @Sendable () async throws -> Void) async throws {
        guard !factories.isEmpty else { return try await read() }
        let isOver = Monitor(false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await read()
                isOver.with { $0 = true }
            }
            for make in factories {
                group.addTask {
                    var task = make()
                    try await task.work(enqueuer(for: task), until: isOver)
                }
            }
            // The first error ends all of them.
            while try await group.next() != nil {}
        }
        do { try await finishRemaining() } catch is RunIsStopping {
        } catch is CancellationError where !Task.isCancelled {
            // A graceful shutdown: the next run continues the work.
        }
    }

    /// In a run with an end, executes the tasks until none has work left; in a stopped run, once.
    private func finishRemaining() async throws {
        var backgroundTasks = factories.map { $0() }
        let enqueuers = backgroundTasks.map(enqueuer)
        var isSettled = false
        while !isSettled {
            guard await flow.queue.waitUntilIdle() else { return }
            isSettled = true
            // A stopping run gives up documents that must wait, and would give them up again if they were enqueued
            // again.
            let continues = endsOnceSettled && !Task.isShuttingDownGracefully
            for index in backgroundTasks.indices {
                let result = try await backgroundTasks[index].runOnce(
                    continues ? .settled : .stopping, enqueuers[index])
                if continues, result.hasEnqueued { isSettled = false }
            }
        }
    }

    private func enqueuer(for task: any BackgroundTask) -> QueueEnqueuer {
        QueueEnqueuer(flow, woken: task.woken, documentsAtOnce: task.documentsAtOnce)
    }
}
