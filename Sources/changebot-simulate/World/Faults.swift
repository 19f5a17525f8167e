internal import TestKit

/// The kinds of trouble in a simulation.
enum FaultKind: String, CaseIterable {
    /// No connection.
    case refusedConnection = "refused-connection"
    /// 503, sometimes with `Retry-After`.
    case unavailable
    /// The connection ends before the gateway gets the request.
    case lostRequest = "lost-request"
    /// The gateway does what it is asked, and its answer is lost.
    case lostAnswer = "lost-answer"
    /// The answer ends in the middle.
    case cutAnswer = "cut-answer"
    /// The answer takes from a second to two minutes.
    case lateAnswer = "late-answer"
    /// The gateway does what it is asked, but never answers.
    case silence
    /// The gateway gets the request twice: a proxy sends it again. The client gets the second answer.
    case doubledRequest = "doubled-request"
    /// The gateway is unreachable for a while.
    case outage
    /// A server that rules contact is unreachable for a while.
    case serverOutage = "server-outage"
    /// The request goes to a node of the gateway whose feed shows changes seconds later.
    case lateNode = "late-node"
    /// The answer arrives after the next one on another connection.
    case reorderedAnswer = "reordered-answer"
    /// For a while, the gateway often can't write some documents of a request.
    case failedRow = "failed-row"
    /// For a while, the gateway refuses requests with several writes that are longer than a few documents.
    case requestLimit = "request-limit"
    /// The process is killed between two steps, and started again.
    case kill
    /// The same, and the disk loses what was not synced.
    case powerFailure = "power-failure"
    /// The power fails during a sync: a part of what was written is on the disk.
    case tornWrite = "torn-write"
    /// The wall clock jumps.
    case clockJump = "clock-jump"
    /// The process is asked to stop, as by SIGTERM, and started again.
    case gracefulStop = "graceful-stop"
    /// The rule file is replaced, and the process reads it again.
    case reload
    /// The password of the bot's user is changed at the gateway, and later in the bot's settings.
    case passwordChange = "password-change"
    /// The gateway forgets the bodies of old revisions.
    case compaction
    /// Sync Gateway's feed passes a sequence, and shows its change later.
    case skippedSequence = "skipped-sequence"
    /// The bot's state is replaced by an older copy.
    case oldDisk = "old-disk"
    /// The bot's state is lost.
    case lostDisk = "lost-disk"
    /// The database is replaced by an older copy.
    case gatewayRestore = "gateway-restore"
    /// The database is replaced by an empty one.
    case gatewayReset = "gateway-reset"
    /// The gateway does not keep local documents.
    case lostMark = "lost-mark"
    // Of fleets.
    /// The engine carries out a call or not, and does not answer.
    case lostEngineAnswer = "lost-engine-answer"
    /// The engine's answer to a call arrives seconds later.
    case lateEngineAnswer = "late-engine-answer"
    /// The engine is unreachable, or does not answer for a while.
    case engineOutage = "engine-outage"
    /// The engine is replaced by an older copy.
    case engineRestore = "engine-restore"
    /// A member can't reach the engine, or gets no answers from it. Sometimes they are late at first, and sometimes it
    /// can't reach the gateway either for a moment.
    case cutOffMember = "cut-off-member"
    /// A member does nothing for up to 90 seconds, then continues.
    case pausedMember = "paused-member"
    /// The clock of a machine is up to a day fast or slow.
    case memberClock = "member-clock"

    /// Those that happen to a single request.
    static let ofRequests: [FaultKind] = [
        .refusedConnection, .unavailable, .lostRequest, .lostAnswer, .cutAnswer, .lateAnswer, .silence, .doubledRequest,
        .lateNode, .reorderedAnswer,
    ]
    /// Those that do not occur with basic rules.
    static let ofFullRules: [FaultKind] = [.failedRow, .requestLimit]
    /// Those that happen to a process.
    static let ofProcesses: [FaultKind] = [.kill, .powerFailure]
    /// Those after which the disk has only what was synced.
    static let ofPower: [FaultKind] = [.powerFailure, .tornWrite]
    /// Those that happen to a single call to the engine.
    static let ofCalls: [FaultKind] = [.lostEngineAnswer, .lateEngineAnswer]

    /// What its rate is a share of.
    var unit: String {
        if Self.ofCalls.contains(self) { return "call" }
        return Self.ofRequests.contains(self) ? "request" : Self.ofProcesses.contains(self) ? "step" : "round"
    }
}

/// Decides when trouble occurs. In each round some kinds are frequent and others do not occur, so that long stories of
/// one kind happen, too.
final class Faults {
    private let plan: TroubleRates
    private var numbers: SplitMix64
    private(set) var counts: [FaultKind: Int] = [:]
    /// Of a million requests, how many get each kind. Empty while there is no trouble.
    private var shares: [(kind: FaultKind, share: Int)] = []
    /// Of a million steps, after how many the process ends.
    private var ends: [(kind: FaultKind, share: Int)] = []

    /// Of a million calls to the engine, how many get each kind.
    private var calls: [(kind: FaultKind, share: Int)] = []

    init(_ plan: TroubleRates, seed: UInt64) {
        (self.plan, numbers) = (plan, SplitMix64(seed: seed))
    }

    /// False: none in the whole simulation.
    var mayOccur: Bool { !plan.kinds.isEmpty }

    func beginRound() {
        shares = plan.kinds.filter(FaultKind.ofRequests.contains).compactMap { kind in
            if let share = plan.share(of: kind) { return (kind, share) }
            return numbers.chance(2) ? (kind, numbers.pick([5_000, 20_000, 20_000, 100_000])) : nil
        }
        let kinds = plan.kinds.filter(FaultKind.ofProcesses.contains)
        let steps = numbers.chance(4) ? nil : numbers.pick([50, 200, 1000, 1000, 5000])
        ends = kinds.compactMap { kind in
            if let share = plan.share(of: kind) { return (kind, share) }
            return steps.map { (kind, 1_000_000 / $0 / kinds.count) }
        }
    }

    /// The same for calls to the engine of a fleet.
    func beginCalls() {
        calls = plan.kinds.filter(FaultKind.ofCalls.contains).compactMap { kind in
            if let share = plan.share(of: kind) { return (kind, share) }
            return numbers.chance(2) ? (kind, numbers.pick([2_000, 10_000, 50_000])) : nil
        }
    }

    func endRound() { (shares, ends, calls) = ([], [], []) }

    /// The trouble of the next call to the engine; nil: none.
    func ofNextCall() -> FaultKind? { calls.isEmpty ? nil : pick(calls, of: 1_000_000) }

    /// The trouble of the next request; nil: none.
    ///
    /// - Parameter factor: How much more often it occurs than in requests to the gateway.
    func ofNextRequest(factor: Int = 1) -> FaultKind? { shares.isEmpty ? nil : pick(shares, of: 1_000_000 / factor) }

    /// How the process ends; nil if it continues. Asked at each step.
    func ofNextStep() -> FaultKind? { ends.isEmpty ? nil : pick(ends, of: 1_000_000) }

    private func pick(_ shares: [(kind: FaultKind, share: Int)], of all: Int) -> FaultKind? {
        var number = numbers.below(all)
        for (kind, share) in shares {
            if number < share { return note(kind) }
            number -= share
        }
        return nil
    }

    /// Whether this kind occurs in this round: on average, once in this number of rounds, unless the plan has a rate.
    func occurs(_ kind: FaultKind, onceIn rounds: Int) -> Bool {
        guard plan.kinds.contains(kind) else { return false }
        guard let share = plan.share(of: kind) else { return numbers.chance(rounds) }
        return numbers.below(1_000_000) < share
    }

    @discardableResult
    func note(_ kind: FaultKind) -> FaultKind {
        counts[kind, default: 0] += 1
        return kind
    }
}
