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
    /// The process is killed between two steps, and started again.
    case kill
    /// The same, and the disk loses what was not synced.
    case powerFailure = "power-failure"
    /// The wall clock jumps.
    case clockJump = "clock-jump"

    /// Those that happen to a single request.
    static let ofRequests: [FaultKind] = [
        .refusedConnection, .unavailable, .lostRequest, .lostAnswer, .cutAnswer, .lateAnswer, .silence, .doubledRequest,
    ]
    /// Those that happen to a process.
    static let ofProcesses: [FaultKind] = [.kill, .powerFailure]
}

/// Decides when trouble occurs. In each round some kinds are frequent and others do not occur, so that long stories of
/// one kind happen, too.
final class Faults {
    private let kinds: [FaultKind]
    private var numbers: SplitMix64
    private(set) var counts: [FaultKind: Int] = [:]
    /// Of a thousand requests, how many get each kind. Empty while there is no trouble.
    private var shares: [(kind: FaultKind, share: Int)] = []
    /// The average number of steps between two ends of the process; nil: it is not ended.
    private(set) var stepsBetweenEnds: Int?

    init(_ kinds: [FaultKind], seed: UInt64) {
        (self.kinds, numbers) = (kinds, SplitMix64(seed: seed))
    }

    func beginRound() {
        shares = FaultKind.ofRequests.filter(kinds.contains).compactMap { kind in
            numbers.chance(2) ? (kind, numbers.pick([5, 20, 20, 100])) : nil
        }
        let endsProcesses = FaultKind.ofProcesses.contains(where: kinds.contains) && !numbers.chance(4)
        stepsBetweenEnds = endsProcesses ? numbers.pick([50, 200, 1000, 1000, 5000]) : nil
    }

    func endRound() { (shares, stepsBetweenEnds) = ([], nil) }

    /// The trouble of the next request; nil: none.
    ///
    /// - Parameter factor: How much more often it occurs than in requests to the gateway.
    func ofNextRequest(factor: Int = 1) -> FaultKind? {
        var number = numbers.below(1000 / factor)
        for (kind, share) in shares {
            if number < share { return note(kind) }
            number -= share
        }
        return nil
    }

    /// How the process ends; nil if it continues. Asked at each step.
    func ofNextStep() -> FaultKind? {
        guard let stepsBetweenEnds, numbers.chance(stepsBetweenEnds) else { return nil }
        return note(numbers.pick(FaultKind.ofProcesses.filter(kinds.contains)))
    }

    /// Whether this kind occurs in this round: on average, once in this number of rounds.
    func occurs(_ kind: FaultKind, onceIn rounds: Int) -> Bool { kinds.contains(kind) && numbers.chance(rounds) }

    @discardableResult
    func note(_ kind: FaultKind) -> FaultKind {
        counts[kind, default: 0] += 1
        return kind
    }
}
