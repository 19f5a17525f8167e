package import BotState
internal import DocumentFlow
internal import GatewayClient
package import Logging
internal import Outside
internal import Revisions
package import Rules

/// What all rounds of a run share.
struct RoundContext: Sendable {
    let flow: CandidateFlow
    let state: KnownState
    let rules: RuleContext
    let targets: TargetContext
    /// The files of `emit`; nil in a dry run.
    let outputs: LineOutputs?
    /// Nil if no rule sends webhooks, and in a dry run.
    let webhooks: WebhookSender?
    /// Nil if no rule resolves conflicts.
    let conflicts: ConflictResolver?
    let mode: Mode
    let settings: Delivery.Settings
    let progress: RunProgress
    let allowance: ChangeAllowance
    let logger: Logger

    var gateway: Gateway { targets.gateway }
    var limits: RequestLimits { settings.limits }
}

/// The state of a bot, and the run's in-memory views of it.
struct KnownState: Sendable {
    let ledger: Ledger
    let deadLettered: DeadLetteredDocuments
    let deadLetterLog: DeadLetterLog
    /// Nil: rules with `at:` store no timers.
    let timers: DocumentTimers?
    /// Nil: no rule has `changed`, `enter` or `leave`, or this run leaves them out.
    let lastSeen: LastSeenDocuments?
    let interruptions: InterruptedDecisions
    /// Nil: no rule counts, or this run does not keep counts.
    let counts: Counts?
    /// The run for which this pass makes up; nil: this is no such pass.
    let run: RunOfPass?

    /// - Throws: ``StateError``.
    init(
        _ ledger: Ledger, _ timers: DocumentTimers?, _ lastSeen: LastSeenDocuments?, _ counts: Counts?,
        _ run: RunOfPass?, _ settings: Delivery.Settings, _ logger: Logger
    ) async throws {
        self.ledger = ledger
        self.run = run
        self.timers = timers
        self.lastSeen = lastSeen
        self.counts = counts
        deadLetterLog = DeadLetterLog(logger, isDryRun: settings.isDryRun, stateOptions: settings.stateOptions)
        deadLettered = DeadLetteredDocuments(
            try ledger.documentsWithDeadLetters(limit: DeadLetteredDocuments.limit),
            newest: try ledger.highestDeadLetterNumber(), isShared: ledger.isShared)
        interruptions = try await ledger.interruptedDecisions()
    }
}

/// The run of the bot, for a pass that does what the run should have done.
package struct RunOfPass: Sendable {
    /// Also identifies the database in the ids of events, so that an event that is sent again has the same id.
    package let ledger: Ledger
    /// The number of a write of the run: revisions that it wrote until then are complete, because its decisions included
    /// the rules of the pass. Nil: no revision is.
    let lastWrite: Int?

    package init(ledger: Ledger, lastWrite: Int? = nil) {
        (self.ledger, self.lastWrite) = (ledger, lastWrite)
    }
}

/// The rules, and what they need for decisions.
struct RuleContext: Sendable {
    let set: RuleSet
    /// Fetches attachments; nil if no rule downloads any.
    let downloads: Downloads?
    /// Compares attachments of rules with those of the gateway.
    let stored: StoredAttachments
    /// Identifies the database.
    let database: String
}

/// The keyspaces that a run writes to, and the state that its writers share.
struct TargetContext: Sendable {
    let gateway: Gateway
    /// Other keyspaces that rules write to, by their names.
    let siblings: [String: Gateway]
    let pace: WritePace
    let locks: KeyedLock<DocumentAddress>
    let busy: BusyDocuments
    let search: RelatedSearch.Shared
}

/// The size of requests, and the number of attempts.
package struct RequestLimits: Sendable {
    /// The maximum number of documents in one request.
    package var documents = 250
    /// The maximum number of bytes in one request: 4 MiB, attachments as base64 included. A larger document is sent
    /// alone.
    package var bytes = 4 << 20
    /// A document is dead-lettered after this many writes on which the gateway failed, or this many conflicts without
    /// another revision. Each kind is counted separately.
    package var attempts = AttemptLimits.failures

    /// Limits that Sync Gateway and CouchDB accept with their default settings.
    package init() {}

    /// Groups documents into requests, by count and by bytes, in order.
    func requests(_ written: [BulkDocument]) -> [ArraySlice<BulkDocument>] {
        written.grouped(count: documents, bytes: bytes) { $0.byteCount }
    }
}

extension Downloads {
    /// Nil if no rule downloads anything.
    package init?(_ ruleSet: RuleSet, _ ledger: Ledger, _ settings: Delivery.Settings, _ logger: Logger) throws {
        let sources = ruleSet.downloadSources
        if sources.isEmpty { return nil }
        try self.init(
            sources, ledger: ledger, settings.retries, settings.outside.backoff,
            settings.outside.receivers.makeReporter(settings.observer), logger, carrier: settings.outside.carrier)
    }
}

extension WebhookSender {
    /// Nil if no rule sends webhooks.
    package convenience init?(_ ruleSet: RuleSet, _ settings: Delivery.Settings, _ logger: Logger) throws {
        let accesses = ruleSet.webhookAccesses
        if accesses.isEmpty { return nil }
        try self.init(
            accesses, settings.retries, settings.outside.backoff,
            settings.outside.receivers.makeReporter(settings.observer),
            logger, carrier: settings.outside.carrier, now: settings.now)
    }
}
