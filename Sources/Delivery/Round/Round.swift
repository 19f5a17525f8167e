internal import BotState
internal import DocumentFlow
internal import GatewayClient
internal import Rules

/// One batch of candidates: read, decided, carried out, and recorded.
///
/// Each candidate has a ``CandidateProgress``. The round combines the requests and transactions of several candidates.
/// A candidate ends in one of these ways: written, without a write, passed over, or dead-lettered. It is acknowledged
/// after that is recorded on disk, so a crash anywhere repeats work and loses none.
struct Round {
    let context: RoundContext
    /// The candidates under way.
    var active: [CandidateProgress] = []
    /// Candidates for the next round of the same writer.
    private(set) var again: [Candidate] = []
    /// Candidates that continue once receivers have answered.
    private(set) var awaitingReceivers: [CandidateProgress] = []
    /// How many candidates are decided again because no process could be started.
    var undecided = 0
    /// Of the documents that were read again; nil if there are none.
    var reading: MemoryBudget.Reading?
    /// Of what else is in memory for the candidates: their leaves, and what the rules have computed.
    var readings: [MemoryBudget.Reading] = []
    /// Candidates that are over but not recorded yet.
    var outcomes = CandidateOutcomes()
    private var waiting: [WaitingCandidate] = []

    init(_ context: RoundContext) { self.context = context }

    /// Must be held as long as the candidates.
    var heldReadings: [MemoryBudget.Reading] { readings + (reading.map { [$0] } ?? []) }

    /// A candidate that waits for something.
    struct WaitingCandidate {
        let due: ContinuousClock.Instant
        let candidate: Candidate
        let contributed: ContributedAmounts?
    }

    /// Processes candidates as far as this round can.
    ///
    /// - Parameter open: Emptied, so that the documents are freed before anything is sent.
    /// - Throws: `RunError`, ``StateError``, `CancellationError`, `RunIsStopping`.
    mutating func run(_ open: inout [Candidate], _ writer: inout WriterContext) async throws {
        do { try await work(&open, &writer) } catch {
            // Records finished work, so that the next run need not repeat it.
            try? await record()
            throw error
        }
    }

    private mutating func work(_ open: inout [Candidate], _ writer: inout WriterContext) async throws {
        try await read(&open, &writer.sender)
        try await readConflicts()
        try await decide(writer.planner)
        CrashPoint.decided.pass()
        try await noteChains()
        try await limitChanges(&writer)
        await tally()
        try await noteRefusals(&writer)
        await admitSkippedRules(of: Array(active.indices))
        removeFinished()
        if let preview = context.settings.preview { return try await show(to: preview, &writer) }
        endRefused()
        try await carryOut(&writer)
    }

    /// Runs the stages in order. If another document can't be written, or a receiver refuses, the change is not written
    /// either. Lines come last before the write: a decision that can't be carried out now is made again later, with its
    /// lines.
    private mutating func carryOut(_ writer: inout WriterContext) async throws {
        endIneffective()
        try await pass(&writer.resolve)
        try await pass(&writer.busy)
        try await pass(&writer.put)
        try await pass(&writer.related)
        if context.webhooks != nil {
            awaitingReceivers = active.filter { $0.plan?.sendsWebhooks == true }
            active.removeAll { $0.plan?.sendsWebhooks == true }
        }
        try await finish(writer.lines, &writer.sender)
    }

    /// The stages after the receivers' answers.
    mutating func finish(_ lines: EmitStage, _ sender: inout BulkSender) async throws {
        var lines = lines
        do {
            try await pass(&lines)
            traceLines()
            try await write(&sender)
        } catch {
            // Records finished work, so that the next run need not repeat it.
            try? await record()
            throw error
        }
        try await record()
    }

    /// Lets a stage carry out its part of the decisions.
    private mutating func pass(_ stage: inout some EffectStage) async throws {
        let affected = active.indices.filter { active[$0].plan.map(stage.applies) == true }
        guard !affected.isEmpty else { return }
        // Candidates that are over need not wait for others.
        if stage.mayTakeLong { try await record() }
        let answers = try await stage.carryOut(affected.compactMap { active[$0].staged })
        take(answers, of: affected)
    }

    /// Takes the answers of a stage, one for each of these candidates.
    mutating func take(_ answers: [CandidateProgress.StageAnswer], of places: [Int]) {
        let now = ContinuousClock.now
        for (index, answer) in zip(places, answers) { follow(active[index].take(answer, now: now), of: index) }
        removeFinished()
    }

    /// Ends decisions without effects.
    private mutating func endIneffective() {
        for index in active.indices where active[index].plan?.isEffective == false {
            follow(active[index].endWithoutWrite(), of: index)
        }
        removeFinished()
    }

    // MARK: - Commands

    /// Carries out the command for a candidate.
    mutating func follow(_ command: CandidateProgress.Command, of index: Int) { follow(command, of: active[index]) }

    mutating func follow(_ command: CandidateProgress.Command, of progress: CandidateProgress) {
        switch command {
        case .proceed, .abandon: return
        case .again: again.append(progress.candidate)
        case .wait(let due):
            var candidate = progress.candidate
            candidate.content.free()
            waiting.append(
                WaitingCandidate(due: due, candidate: candidate, contributed: progress.result.contributed))
        case .end(let outcome): outcomes.append(progress, outcome)
        }
    }

    /// Adds a candidate to the next round.
    mutating func decideNext(_ candidate: Candidate) { again.append(candidate) }

    /// Removes the candidates that have left the round.
    mutating func removeFinished() { active.removeAll(where: \.isOver) }

    // MARK: - Recording

    /// Records finished candidates, and postpones those that wait.
    mutating func record() async throws {
        let ended = outcomes
        outcomes = CandidateOutcomes()
        try await context.finish(ended)
        let postponed = waiting
        waiting = []
        try await context.postpone(postponed)
    }
}
