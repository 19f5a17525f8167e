internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import Rules

/// What one writer uses in all its rounds. None of it is shared.
struct WriterContext {
    let planner: Planner
    var sender: BulkSender
    var resolve: ResolveStage
    var busy: BusyStage
    var put: PutStage
    var related: RelatedStage
    let lines: EmitStage
    /// The documents that a dry run would have `put` so far.
    var previewed = PreviewedPuts()
    /// For times when jq programs can't be started.
    private var retrier: Retrier

    /// - Parameter writer: Its number, from 0.
    init(_ context: RoundContext, writer: Int) {
        let settings = context.settings
        planner = Planner(context, writer: writer)
        retrier = Retrier(
            RetryPolicy.forKnownGateway(settings.retries), pauses: settings.pauses, logger: context.logger
        ) { [progress = context.progress] in await progress.noteRetry() }
        sender = context.makeSender(context.gateway)
        resolve = ResolveStage(context: context)
        busy = BusyStage(context: context)
        put = PutStage(context: context, targets: context.makeTargetWriter(sender, planner.decider))
        related = RelatedStage(
            context: context, put: put,
            search: RelatedSearch(
                gateway: context.gateway, shared: context.targets.search, reader: sender.reader,
                idsPerRequest: context.limits.documents, retrier: retrier, logger: context.logger))
        lines = EmitStage(context: context)
    }

    /// Waits before candidates are decided again because no process could be started for their programs.
    ///
    /// - Throws: `RunError` if a one-shot job has waited long enough.
    mutating func pause(before undecided: Int) async throws {
        guard undecided > 0 else { return retrier.succeed() }
        let error = GatewayError(.unavailable, "can't start a process for jq programs")
        try await retrier.wait(
            after: error, "can't run the rules on some documents now; trying again",
            [LogKey.documents: .stringConvertible(undecided)])
    }
}

extension Planner {
    fileprivate init(_ context: RoundContext, writer: Int) {
        let rules = context.rules
        let interruptions = context.state.interruptions
        self.init(
            ruleSet: rules.set, decider: rules.set.makeDecider(), downloads: rules.downloads,
            stored: rules.stored.reader, interruptions: interruptions, note: interruptions.makeNote(writer),
            countsEffects: context.mode.guards != nil, onlyLearns: context.mode.onlyLearns,
            ruleNumbers: context.state.lastSeen?.numbers ?? [:], now: context.settings.now,
            effectLimit: context.flow.budget.portionLimit)
    }
}

extension RoundContext {
    func makeSender(_ gateway: Gateway) -> BulkSender {
        BulkSender(
            gateway: gateway, progress: progress, pace: targets.pace, pauses: settings.pauses,
            policy: .forKnownGateway(settings.retries), logger: logger)
    }

    /// - Parameter sender: For the followed keyspace.
    fileprivate func makeTargetWriter(_ sender: BulkSender, _ decider: Decider) -> TargetWriter {
        var senders: [String?: BulkSender] = [nil: sender]
        for (keyspace, sibling) in targets.siblings {
            var sender = makeSender(sibling)
            sender.reader.otherKeyspace = keyspace
            senders[keyspace] = sender
        }
        return TargetWriter(
            ledger: state.ledger, progress: progress, limits: limits, senders: senders, locks: targets.locks,
            busy: targets.busy, budget: flow.budget, decider: mode.endsOnceSettled ? decider : nil, logger: logger)
    }
}
