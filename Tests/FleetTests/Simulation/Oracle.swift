import Fleet
import TestKit

/// Watches a simulation, and reports violations of its invariants.
final class Oracle: @unchecked Sendable {
    private(set) var violations: [String] = []
    private(set) var fencedLeases = 0
    private let scheduler: Scheduler
    private let gateway: SimulatedGateway
    weak var engine: MemoryEngine?
    var hasNoBadDocuments = false
    /// The last things that happened, reported only with a violation.
    private var recent: [(at: Duration, text: () -> String)] = []
    private var nextRecent = 0
    /// For each document the highest generation that was decided, and the highest with an effect.
    private var decided: [Int]
    private var effects: [Int]
    /// For each lease the highest place of each document that is answered, parked or dead.
    private var answered: [Lease: [DocumentKey: Int64]] = [:]
    /// The same for parked rechecks.
    private var looked: [Lease: [DocumentKey: Int64]] = [:]
    private var inProgress: Set<Work> = []
    private(set) var deadRevisions: [DocumentKey: Set<String>] = [:]
    private(set) var counts: [String: Int] = [:]

    private struct Work: Hashable {
        var owner: String
        var id: DocumentKey
    }

    init(_ scheduler: Scheduler, _ gateway: SimulatedGateway) {
        (self.scheduler, self.gateway) = (scheduler, gateway)
        decided = Array(repeating: 0, count: gateway.documents.count)
        effects = decided
    }

    var isClean: Bool { violations.isEmpty }

    func note(_ text: @escaping () -> String) {
        if recent.count < 120 {
            recent.append((scheduler.now, text))
        } else {
            recent[nextRecent] = (scheduler.now, text)
            nextRecent = (nextRecent + 1) % recent.count
        }
    }

    func count(_ what: String) { counts[what, default: 0] += 1 }

    func reportViolation(_ text: String) { if violations.count < 5 { violations.append("\(scheduler.now): \(text)") } }

    /// The last things that happened, the newest last.
    var history: String {
        (recent[nextRecent...] + recent[..<nextRecent]).map { "\($0.at) \($0.text())" }.joined(separator: "\n")
    }

    // MARK: Members

    func begins(_ change: LoggedChange, _ lease: Lease, _ owner: String) {
        if !inProgress.insert(Work(owner: owner, id: change.id)).inserted {
            reportViolation("\(owner) works on \(change.id) twice at once")
        }
        if change.entry.kind.isFromFeed, let last = answered[lease]?[change.id], change.n < last {
            reportViolation("\(owner) gets \(change.id) at \(change.n) after \(last)")
        }
    }

    func ends(_ change: LoggedChange, _ verdict: Verdict, _ lease: Lease, _ owner: String) {
        inProgress.remove(Work(owner: owner, id: change.id))
        switch verdict {
        // A recheck may come while an older change is parked.
        case .done where !change.entry.kind.isFromFeed && change.parks > 0:
            looked[lease, default: [:]][change.id] = change.n
        case .done, .parked, .dead: if change.entry.kind.isFromFeed { markAnswered(change.id, change.n, lease) }
        case .failed, .postponed: break
        }
    }

    func decide(_ number: Int, generation: Int) { decided[number] = max(decided[number], generation) }

    /// Right before an effect starts.
    func effect(_ number: Int, generation: Int, _ tenure: Tenure, isValid: Bool, _ owner: String) {
        guard case .partition(let partition) = tenure.lease.name else { return }
        if !isValid { reportViolation("\(owner) starts an effect after its deadline") }
        if let (holder, claim) = engine?.holder(of: partition), holder != owner {
            reportViolation(
                "\(owner) starts an effect for partition \(partition) that \(holder) has under \(claim.lease)")
        }
        if generation < effects[number] {
            reportViolation("\(owner) starts an effect for \(number) at \(generation) after \(effects[number])")
        }
        effects[number] = max(effects[number], generation)
    }

    private func markAnswered(_ id: DocumentKey, _ n: Int64, _ lease: Lease) {
        answered[lease, default: [:]][id] = max(answered[lease]?[id] ?? 0, n)
    }

    // MARK: The engine

    func take(_ commit: MemoryEngine.Commit) {
        switch commit {
        case .appended(let entries, let from, let sequence, let first, let owner):
            note {
                "\(owner) appends \(entries.map { "\($0.id)@\($0.sequence)" }) from n \(first) up to "
                    + (sequence ?? "the same")
            }
            let start = from ?? gateway.savedAnsweredSequence
            if let sequence { check(entries, from: start.flatMap(Int.init) ?? 0, upTo: Int(sequence) ?? 0) }
        case .committed(let claim, let outcome, let deleted, let owner):
            note {
                "\(owner) commits \(claim.lease.name) v\(claim.version) to \(outcome.position), "
                    + "parked \(outcome.parked.map { "\($0.change.id)@\($0.change.n)" }), joined "
                    + "\(outcome.joined.map { "\($0.id)@\($0.n)" }), dead \(outcome.dead.map(\.change.id)), "
                    + "unparked \(outcome.unparked)\(outcome.releases ? ", releases" : "")"
            }
            check(claim, outcome, deleted, owner)
        }
    }

    private func check(_ entries: [FeedEntry], from: Int, upTo end: Int) {
        var stored = Set(entries.compactMap { Int($0.sequence) })
        if end < from { return reportViolation("the checkpoint goes back from \(from) to \(end)") }
        for sequence in from..<end {
            let number = gateway.feed[sequence]
            guard gateway.documents[number]?.sequence == sequence + 1 else { continue }
            if stored.remove(sequence + 1) == nil {
                reportViolation("the checkpoint passes \(sequence + 1) of \(number), which is not stored")
            }
        }
    }

    private func check(_ claim: Claim, _ outcome: PartitionOutcome, _ deleted: [LoggedChange], _ owner: String) {
        for change in outcome.joined { markAnswered(change.id, change.n, claim.lease) }
        for parking in outcome.parked { markAnswered(parking.change.id, parking.change.n, claim.lease) }
        for dead in outcome.dead {
            markAnswered(dead.change.id, dead.change.n, claim.lease)
            deadRevisions[dead.change.id, default: []].insert(dead.change.entry.revision)
            let number = SimulatedGateway.number(dead.change.id)
            let isBad = SimulatedProcessor.isPoison(number) || SimulatedProcessor.kills(number)
            count(isBad && !hasNoBadDocuments ? "dead" : "dead, though good")
        }
        // A recheck may be answered by an earlier parked change, which is decided later.
        let changes = deleted.lazy.filter(\.entry.kind.isFromFeed)
        for change in changes
        where !change.isParked && (answered[claim.lease]?[change.id] ?? 0) < change.n
            && !isBeforeRecheck(change, claim.lease)
        {
            reportViolation("\(owner) moves \(claim.lease.name) past \(change.id) at \(change.n) without an answer")
        }
    }

    /// A killed member may have decided it, and then parked a recheck of the same document, which is answered now.
    private func isBeforeRecheck(_ change: LoggedChange, _ lease: Lease) -> Bool {
        change.n < looked[lease]?[change.id] ?? 0
            && decided[SimulatedGateway.number(change.id)] >= Int(change.entry.revision) ?? Int.max
    }

    /// The sequence that is recorded outside the engine: every document whose last change is not after it is decided
    /// or dead.
    func recordsAnswered(_ sequence: String) {
        for (number, document) in gateway.documents.enumerated() {
            guard let document, document.sequence <= Int(sequence) ?? 0 else { continue }
            if !isSettled(number, document) {
                reportViolation("\(sequence) is answered, but \(number) at \(document.sequence) is not")
            }
        }
    }

    private func isSettled(_ number: Int, _ document: SimulatedGateway.Document) -> Bool {
        decided[number] >= document.generation || isDead(number, document)
    }

    private func isDead(_ number: Int, _ document: SimulatedGateway.Document) -> Bool {
        deadRevisions[SimulatedGateway.id(number)]?.contains("\(document.generation)") == true
    }

    // MARK: At the end

    /// Every document's last revision is decided or dead.
    func checkEnd() {
        for (number, document) in gateway.documents.enumerated() {
            guard let document else { continue }
            let id = SimulatedGateway.id(number)
            if isDead(number, document) { continue }
            if decided[number] < document.generation {
                reportViolation("\(id) is decided up to \(decided[number]), not \(document.generation)")
            }
            if document.answer != document.question { reportViolation("\(id) is not answered") }
            if gateway.told[number] < document.question { reportViolation("the webhook of \(id) is missing") }
        }
    }
}
