internal import Delivery
internal import Encodings
internal import Fleet
internal import FoundationEssentials
internal import GRDB

/// An error that is put into a simulation on purpose, to show that the simulation finds it. Each one has the effect of a
/// fault that the delivery once had, or could have.
enum Breakage: String, CaseIterable {
    /// A put is lost: the gateway acknowledges writes of documents that rules put, and does not store them.
    case lostPut = "lost-put"
    /// Every 50th write of the bot is lost in the same way.
    case lostWrite = "lost-write"
    /// The checkpoint is saved when the changes arrive, not when they are done.
    case earlyCheckpoint = "early-checkpoint"
    /// A write replaces whatever is there, so that a decision about an outdated revision overwrites an edit.
    case overwrittenEdit = "overwritten-edit"
    /// A number in a document is spelled in another way.
    case rewrittenNumber = "rewritten-number"
    /// The bot does not remember what it wrote, and a rule does not see what it wrote.
    case endlessRule = "endless-rule"
    /// Writes leave out the stubs of attachments.
    case lostAttachment = "lost-attachment"
    /// A download whose answer was cut counts as complete.
    case cutDownload = "cut-download"
    /// An attachment with other content counts as the one that a rule attaches.
    case wrongDigest = "wrong-digest"
    /// A request to stop does not arrive.
    case ignoredStop = "ignored-stop"
    /// A proxy sends refused requests again.
    case repeatedLogin = "repeated-login"
    /// After a skipped sequence, the feed continues behind the newest one.
    case lostSequence = "lost-sequence"
    /// A database that was replaced keeps its mark and its start time.
    case hiddenReset = "hidden-reset"
    /// An event that the receiver could not handle counts as accepted.
    case lostEvent = "lost-event"
    /// Each process gives an event another id.
    case newEventID = "new-event-id"
    /// A program computes a wrong number.
    case wrongComputation = "wrong-computation"
    /// The state forgets what a document adds to a total.
    case forgottenContribution = "forgotten-contribution"
    /// Every fifth write of a total is lost.
    case lostTotal = "lost-total"
    /// The deletion of a losing leaf is lost.
    case lostResolution = "lost-resolution"
    /// Not the losing leaf is deleted, but the winner.
    case deletedWinner = "deleted-winner"
    /// The bot's clock is two minutes fast.
    case fastClock = "fast-clock"
    /// Timers are removed from the state.
    case forgottenTimer = "forgotten-timer"
    /// After a minute, no pause of the bot ends.
    case lostTimer = "lost-timer"

    /// A truncated line gets a line feed, so that it is not removed.
    case halfLine = "half-line"
    /// Every third write of a box is lost.
    case lostBox = "lost-box"
    /// The gateway stores a merged revision with the content of the winner.
    case lostMerge = "lost-merge"
    /// Writes of items are lost.
    case lostItem = "lost-item"

    /// The feed of a node that sees writes late ends at the newest sequence.
    case lateSequence = "late-sequence"
    /// A proxy swaps two answers that overtake each other.
    case swappedAnswer = "swapped-answer"
    /// The gateway accepts a repeated write as another revision.
    case doubledWrite = "doubled-write"
    /// Compaction forgets the bodies of losing leaves, too.
    case forgottenLeaf = "forgotten-leaf"

    // Of fleets.
    /// Transactions of members whose membership is over change the state.
    case unfencedCommit = "unfenced-commit"
    /// Members use the clocks of their machines, and not the engine's.
    case ignoredEngineClock = "ignored-engine-clock"

    // In the code of fleets: see `InjectedFleetFault`.
    case ignoredLease = "ignored-lease"
    case passingPosition = "passing-position"
    case earlyRelease = "early-release"
    case unclaimedPartition = "unclaimed-partition"

    // In the delivery itself: see `InjectedFault`.
    case skippedLine = "skipped-line"
    case newLineID = "new-line-id"
    case skippedRelated = "skipped-related"
    case skippedPass = "skipped-pass"
    case earlyPassEnd = "early-pass-end"
    case ignoredTimer = "ignored-timer"
    case forgottenFailure = "forgotten-failure"
    case outdatedPut = "outdated-put"
    case lostAnswer = "forgotten-write"
    case foreignOwnWrite = "foreign-own-write"
    case uncountedDecision = "uncounted-decision"
    case unreadRetry = "unread-retry"
    case passingStop = "passing-stop"
    case skippedStart = "skipped-start"
    case uncountedStart = "uncounted-start"
    case uncountedOwnWrite = "uncounted-own-write"
    case foreignLeaf = "foreign-leaf"
    case outdatedWinner = "outdated-winner"
    case outdatedLeaves = "outdated-leaves"
    case cancelledTimer = "cancelled-timer"
    case uncheckedConflict = "unchecked-conflict"
    case forgottenLeaves = "forgotten-leaves"
    case outdatedWaiting = "outdated-waiting"
    case unclosedTicket = "unclosed-ticket"
    case mergedTombstone = "merged-tombstone"
    case acceptedRefusal = "accepted-refusal"
    case keptDeadLetter = "kept-dead-letter"
    case endlessAnswer = "endless-answer"
    case skippedPut = "skipped-put"
    case vanishedDeadLetter = "vanished-dead-letter"
    case droppedChange = "dropped-change"
    case passingCheckpoint = "passing-checkpoint"
    case leakedMemory = "leaked-memory"
    case unbookedLog = "unbooked-log"
    case totalsWithoutEngine = "totals-without-engine"

    /// Whether it is an error in the code of the bot, which only debug builds can have.
    var isInDelivery: Bool { InjectedFault(rawValue: rawValue) != nil || InjectedFleetFault(rawValue: rawValue) != nil }

    func breakDelivery() {
        #if DEBUG
            InjectedFault.active = InjectedFault(rawValue: rawValue)
            InjectedFleetFault.active = InjectedFleetFault(rawValue: rawValue)
        #endif
    }

    func breakGateway(_ gateway: SimulatedGateway) {
        switch self {
        case .lostPut: gateway.errors.losesWrite = { id, author in author != .user && Scenario.putBody(id) != nil }
        case .lostWrite: loseWrites(of: gateway, onceIn: 50) { _ in true }
        case .overwrittenEdit: gateway.errors.ignoresRevisions = true
        case .lostTotal: loseWrites(of: gateway, onceIn: 5, Scenario.isTotal)
        case .lostBox: loseWrites(of: gateway, onceIn: 3, Scenario.isBox)
        case .lostItem:
            gateway.errors.losesWrite = { [unowned gateway] id, author in
                author != .user && gateway.documents[id]?.body.map(Scenario.isItem) == true
            }
        case .lostMerge: gateway.errors.losesMerged = true
        case .lateSequence: gateway.errors.hidesLag = true
        case .forgottenLeaf: gateway.errors.forgetsLeaves = true
        case .lostResolution: gateway.errors.losesReplicated = true
        case .deletedWinner: gateway.errors.deletesWinner = true
        case .lostAttachment: gateway.errors.losesStubs = true
        case .hiddenReset: gateway.errors.hidesResets = true
        case .lostSequence: gateway.errors.forgetsSkipped = true
        default: break
        }
    }

    /// The gateway loses every nth write of these documents by the bot.
    private func loseWrites(
        of gateway: SimulatedGateway, onceIn number: Int, _ includes: @escaping (String) -> Bool
    ) {
        var count = 0
        gateway.errors.losesWrite = { id, author in
            guard author != .user, includes(id) else { return false }
            count += 1
            return count.isMultiple(of: number)
        }
    }

    func breakClock(_ scheduler: Scheduler) {
        guard self == .lostTimer else { return }
        scheduler.after(.seconds(60)) { scheduler.losesTimers = true }
    }

    /// The request as the gateway gets it.
    func broken(_ message: GatewayMessage) -> GatewayMessage {
        guard [.rewrittenNumber, .wrongComputation].contains(self), message.path == "_bulk_docs" else { return message }
        var message = message
        let text = String(decoding: message.body, as: UTF8.self)
        let changed =
            self == .rewrittenNumber
            ? text.replacing("1.10", with: "1.1") : text.replacing(/"total":/, with: "\"total\":1")
        message.body = Array(changed.utf8)
        return message
    }

    /// The request as another server gets it.
    func broken(_ request: OutsideRequest) -> OutsideRequest {
        guard self == .newEventID, let id = request.headers["idempotency-key"] else { return request }
        var request = request
        request.headers["idempotency-key"] = "\(request.process)\(id)"
        return request
    }

    /// What the bot reads from a feed.
    func broken(_ answer: GatewayAnswer) -> GatewayAnswer {
        var answer = answer
        let text = String(decoding: answer.body, as: UTF8.self)
        switch self {
        case .endlessRule: answer.body = Array(text.replacing(#","stamped":true"#, with: "").utf8)
        case .wrongDigest:
            let digest = Digest.sha1.attachmentName(Scenario.files["logo.txt"] ?? [])
            answer.body = Array(
                text.replacing(/("logo.txt":{[^}]*"digest":")[^"]*/) { "\($0.output.1)\(digest)" }.utf8)
        default: break
        }
        return answer
    }

    /// Called with `last_seq` of each feed that the bot gets.
    func noteFeed(until last: String, stateIn directory: String) {
        let statements: [Breakage: String] = [
            .forgottenTimer: "DELETE FROM timer",
            .forgottenContribution: "DELETE FROM contribution WHERE id IN (SELECT MIN(id) FROM contribution)",
            .earlyCheckpoint: """
            INSERT INTO checkpoint (sequence, rule_set, saved_at, run)
            SELECT ?, rule_set, saved_at, run FROM checkpoint ORDER BY number DESC LIMIT 1
            """,
        ]
        guard let statement = statements[self], let database = try? DatabaseQueue(path: "\(directory)/bot.sqlite")
        else { return }
        try? database.write { database in
            try database.execute(sql: statement, arguments: self == .earlyCheckpoint ? [last] : [])
        }
    }
}

extension World {
    /// A request that a proxy has repeated.
    func repeating(_ request: () -> Void) {
        guard breakage == .doubledWrite else { return request() }
        gateway.errors.ignoresRevisions = true
        request()
        gateway.errors.ignoresRevisions = false
    }
}
