internal import DocumentFlow
internal import Locking

/// Takes batches of candidates from the queue, and processes each in a round. Several writers share a queue.
struct DeliveryWriter: Sendable {
    let context: RoundContext
    /// The number of this writer, from 0.
    let number: Int

    /// Works until the queue is finished and empty.
    ///
    /// Cancelling aborts the request under way: a later run processes its documents. The same applies to candidates
    /// that wait for a retry when the run stops.
    ///
    /// - Throws: `RunError`, ``StateError``, `CancellationError`.
    func run() async throws {
        let (batches, pending) = AsyncStream<WebhookBatch>.makeStream()
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask {
                defer { pending.finish() }
                do { try await work(pending) } catch is RunIsStopping { await context.flow.queue.abort() }
            }
            for await batch in batches { group.addTask { try await batch.run(context) } }
        }
    }

    private func work(_ pending: AsyncStream<WebhookBatch>.Continuation) async throws {
        var writer = WriterContext(context, writer: number)
        let limits = context.limits
        while true {
            var open = await context.flow.queue.take(
                limit: limits.documents, byteLimit: limits.bytes, writer: number)
            if open.isEmpty { return }
            while !open.isEmpty {
                var round = Round(context)
                let later = deferCandidates(from: &open)
                try await round.run(&open, &writer)
                try await finishAfterReceivers(round.awaitingReceivers, round.heldReadings, to: pending)
                try await writer.pause(before: round.undecided)
                open = round.again + later
            }
        }
    }

    /// Divides candidates into rounds. Candidates with slow programs are decided one at a time after the others, which
    /// need not wait for them. Candidates that must be read come after those in memory, since a writer waits for memory
    /// only while it holds none.
    ///
    /// - Returns: The candidates of later rounds.
    private func deferCandidates(from open: inout [Candidate]) -> [Candidate] {
        let slow = open.filter(\.history.isSlow)
        var later: [Candidate] = []
        if !slow.isEmpty, open.count > 1 {
            let isMixed = slow.count < open.count
            open = isMixed ? open.filter { !$0.history.isSlow } : [slow[0]]
            later = isMixed ? slow : Array(slow.dropFirst())
        }
        let unread = open.filter(context.mustBeRead)
        guard !unread.isEmpty, unread.count < open.count else { return later }
        open.removeAll(where: context.mustBeRead)
        return later + unread
    }

    /// Passes on candidates that wait for receivers. Returns when they are settled, or soon.
    private func finishAfterReceivers(
        _ active: [CandidateProgress], _ readings: [MemoryBudget.Reading],
        to pending: AsyncStream<WebhookBatch>.Continuation
    ) async throws {
        guard !active.isEmpty else { return }
        let batch = WebhookBatch(active: active, readings: readings)
        pending.yield(batch)
        try await batch.ended.wait(until: .now + WebhookBatch.maxWriterWait)
    }
}
