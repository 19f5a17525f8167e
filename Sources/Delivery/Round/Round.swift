internal import BotState
internal import DocumentFlow
internal import GatewayClient
internal import Rules

/// One batch of candidates: read, decided, carried out, and recorded.
///
/// Each candidate is on a ``Course``. The round does together what several need: one request, one transaction. A candidate
/// ends in one of these ways: written, without a write, passed over, or dead-lettered. Its receipts are given after that is
/// recorded on disk, so a crash anywhere repeats work and loses none.
struct Round {
    let context: RoundContext
    /// Those that are under way.
    var courses: [Course] = []
    /// To be decided in the next round of the same writer.
    private(set) var again: [Candidate] = []
    /// Those that go on once receivers have answered.
    private(set) var forReceivers: [Course] = []
    /// How many are decided again because no process could be started.
    var undecided = 0
    /// To be held as long as the documents; nil if none was read again.
    var reading: MemoryBudget.Reading?
    /// Those that are over, and not recorded yet.
    var endings = Endings()
    private var waiting: [WaitingCourse] = []

    init(_ context: RoundContext) { self.context = context }

    /// A candidate that waits for something.
    struct WaitingCourse {
        let due: ContinuousClock.Instant
        let candidate: Candidate
        let contributed: ContributedAmounts?
    }

    /// Brings candidates as far as this round can.
    ///
    /// - Parameter open: Emptied, so that what was read is freed before anything is sent.
    /// - Throws: `RunError`, ``StateError``, `CancellationError`, `RunIsStopping`.
    mutating func run(_ open: inout [Candidate], _ tools: inout RoundTools) async throws {
        do { try await work(&open, &tools) } catch {
            // What is over need not be repeated by the next run.
            try? await record()
            throw error
        }
    }

    private mutating func work(_ open: inout [Candidate], _ tools: inout RoundTools) async throws {
        try await read(&open, &tools.sender)
        try await readConflicts()
        try await decide(tools.planner)
        CrashPoint.decided.pass()
        try await noteChains()
        try await limitChanges(&tools)
        await tally()
        try await noteRefusals(&tools)
        await admitSkippedRules(of: Array(courses.indices))
        dropOver()
        if let preview = context.settings.preview { return try await show(to: preview, &tools) }
        endRefused()
        try await carryOut(&tools)
    }

    /// The stages of effects, in their order. If another document can't be written, or a receiver refuses, the change is
    /// not written either. Lines come last before the write: what can't be done now is decided again later, and its lines
    /// with it.
    private mutating func carryOut(_ tools: inout RoundTools) async throws {
        endIdle()
        try await pass(&tools.resolve)
        try await pass(&tools.busy)
        try await pass(&tools.put)
        try await pass(&tools.related)
        if context.webhooks != nil {
            forReceivers = courses.filter { $0.plan?.sendsWebhooks == true }
            courses.removeAll { $0.plan?.sendsWebhooks == true }
        }
        try await finish(tools.lines, &tools.sender)
    }

    /// What comes after the receivers' answers.
    mutating func finish(_ lines: LineStage, _ sender: inout BulkSender) async throws {
        var lines = lines
        do {
            try await pass(&lines)
            try await write(&sender)
        } catch {
            // What is over need not be repeated by the next run.
            try? await record()
            throw error
        }
        try await record()
    }

    /// Lets a stage carry out what the decisions want of it.
    private mutating func pass(_ stage: inout some EffectStage) async throws {
        let concerned = courses.indices.filter { courses[$0].plan.map(stage.isFor) == true }
        guard !concerned.isEmpty else { return }
        // What is over need not wait for others.
        if stage.asksOthers { try await record() }
        let answers = try await stage.carryOut(concerned.compactMap { courses[$0].staged })
        take(answers, of: concerned)
    }

    /// Takes the answers of a stage, one for each of these courses.
    mutating func take(_ answers: [Course.StageAnswer], of places: [Int]) {
        let now = ContinuousClock.now
        for (index, answer) in zip(places, answers) { follow(courses[index].take(answer, now: now), of: index) }
        dropOver()
    }

    /// Ends decisions that want nothing.
    private mutating func endIdle() {
        for index in courses.indices where courses[index].plan?.isEffective == false {
            follow(courses[index].endWithoutWrite(), of: index)
        }
        dropOver()
    }

    // MARK: - Courses

    /// Carries out the command for a course.
    mutating func follow(_ command: Course.Command, of index: Int) { follow(command, of: courses[index]) }

    mutating func follow(_ command: Course.Command, of course: Course) {
        switch command {
        case .goOn, .abandon: return
        case .again: again.append(course.candidate)
        case .wait(let due):
            var candidate = course.candidate
            candidate.content.free()
            waiting.append(
                WaitingCourse(due: due, candidate: candidate, contributed: course.result.contributed))
        case .end(let ending): endings.append(course, ending)
        }
    }

    /// Adds a candidate to the next round.
    mutating func decideNext(_ candidate: Candidate) { again.append(candidate) }

    /// Removes the courses that have left the round.
    mutating func dropOver() { courses.removeAll(where: \.isOver) }

    // MARK: - Recording

    /// Records what is over, and puts off what waits.
    mutating func record() async throws {
        let ended = endings
        endings = Endings()
        try await context.finish(ended)
        let postponed = waiting
        waiting = []
        try await context.postpone(postponed)
    }
}
