internal import DocumentFlow
internal import Locking
internal import ServiceLifecycle

/// The duties of a process that reads the feed itself.
struct DutyShift: Sendable {
    let makers: [Duty.Maker]
    let flow: CandidateFlow
    /// Whether the run works off what is left at its end.
    let endsOnceSettled: Bool

    /// Reads, with the duties beside it, each in a task of its own. Then settles what is left.
    ///
    /// - Throws: What `read` and the duties throw.
    func attend(whileReading read: @escaping @Sendable () async throws -> Void) async throws {
        guard !makers.isEmpty else { return try await read() }
        let isOver = Monitor(false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await read()
                isOver.with { $0 = true }
            }
            for make in makers {
                group.addTask {
                    var duty = make()
                    try await duty.work(bringer(for: duty), until: isOver)
                }
            }
            // The first error ends all.
            while try await group.next() != nil {}
        }
        do { try await workOff() } catch is RunIsStopping {
        } catch is CancellationError where !Task.isCancelled {
            // A graceful shutdown: the next run goes on with it.
        }
    }

    /// In a run that ends, looks until no duty has anything left; in one that was stopped, once.
    private func workOff() async throws {
        var duties = makers.map { $0() }
        let bringers = duties.map(bringer)
        var isSettled = false
        while !isSettled {
            guard await flow.queue.untilIdle() else { return }
            isSettled = true
            // A run that is to stop gives up what must wait: brought again, it would be given up again.
            let goesOn = endsOnceSettled && !Task.isShuttingDownGracefully
            for index in duties.indices {
                let look = try await duties[index].look(goesOn ? .settled : .stopping, bringers[index])
                if goesOn, look.hasBrought { isSettled = false }
            }
        }
    }

    private func bringer(for duty: any Duty) -> QueueBringer {
        QueueBringer(flow, woken: duty.woken, documentsAtOnce: duty.documentsAtOnce)
    }
}
