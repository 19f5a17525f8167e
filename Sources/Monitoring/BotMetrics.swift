internal import CoreMetrics
internal import DocumentFlow
internal import GatewayClient
internal import Locking

/// The metrics of one bot, all with the label `bot`.
final class BotMetrics: Sendable {
    private let factory: PrometheusRegistry
    private let bot: String
    private let counters: [Counter]
    private let decideSeconds: Timer
    private let writeSeconds: Timer
    private let settleSeconds: SecondsHistogram
    private let bytesSent: Counter
    private let bytesReceived: Counter
    /// Counters with additional labels, created when first needed.
    private let labelled = Locked<[Key: Counter]>([:])

    private struct Key: Hashable {
        let name: String
        let labels: [String]
    }

    private static let counted: [(family: MetricFamily, count: @Sendable (RunCounters) -> Int)] = [
        (MetricFamily("changebot_changes_total", .counter, "Rows of the feed that were read."), { $0.changes }),
        (
            MetricFamily("changebot_changes_matched_total", .counter, "Changes on which a rule fired or failed."),
            { $0.matched }
        ),
        (
            MetricFamily("changebot_documents_written_total", .counter, "Documents that the gateway accepted."),
            { $0.written }
        ),
        (
            MetricFamily("changebot_documents_deleted_total", .counter, "Documents written as tombstones."),
            { $0.deleted }
        ),
        (
            MetricFamily(
                "changebot_documents_unchanged_total", .counter, "Matching documents that needed no change."),
            { $0.unchanged }
        ),
        (
            MetricFamily("changebot_conflicts_total", .counter, "Writes refused because the document had changed."),
            { $0.conflicts }
        ),
        (
            MetricFamily(
                "changebot_documents_rejected_total", .counter, "Documents that the gateway refused permanently."),
            { $0.rejected }
        ),
        (MetricFamily("changebot_emitted_lines_total", .counter, "Lines that rules emitted."), { $0.outside.lines }),
        (
            MetricFamily("changebot_webhooks_sent_total", .counter, "Webhooks that their receivers accepted."),
            { $0.outside.accepted }
        ),
        (
            MetricFamily("changebot_webhooks_refused_total", .counter, "Webhooks that became dead letters."),
            { $0.outside.refused }
        ),
        (
            MetricFamily("changebot_feed_bytes_total", .counter, "Bytes of the rows that were read."),
            { $0.traffic.bytesIn }
        ),
        (
            MetricFamily(
                "changebot_document_bytes_written_total", .counter, "Bytes of the documents that the gateway accepted."),
            { $0.traffic.bytesOut }
        ),
    ]

    private static let rulesFired = MetricFamily("changebot_rule_fired_total", .counter, "How often a rule fired.")
    private static let timersFired = MetricFamily(
        "changebot_timers_fired_total", .counter, "Documents that were decided because a timer was due.")
    private static let deadLetters = MetricFamily(
        "changebot_dead_letters_total", .counter, "Changes that became dead letters, by rule; empty without one.")
    private static let retries = MetricFamily(
        "changebot_retries_total", .counter, "Requests that were sent again, by cause.")
    private static let requests = MetricFamily(
        "changebot_requests_total", .counter, "Requests to the gateway, by method and class of the status.")
    private static let sent = MetricFamily("changebot_sent_bytes_total", .counter, "Bytes of request bodies.")
    private static let received = MetricFamily("changebot_received_bytes_total", .counter, "Bytes of response bodies.")
    private static let decide = MetricFamily(
        "changebot_decide_seconds", MetricFamily.seconds, "Time to decide a batch of documents.")
    private static let jq = MetricFamily(
        "changebot_jq_seconds", MetricFamily.seconds, "Time that a batch of documents waited for jq programs.")
    private static let write = MetricFamily(
        "changebot_write_seconds", MetricFamily.seconds, "Time of a bulk write, from the request to its answer.")
    private static let settle = MetricFamily(
        "changebot_settle_seconds", MetricFamily.seconds, "Time from a matching change's arrival until it is finished.")

    /// All metrics, in the order of the output.
    static let families: [MetricFamily] =
        [
            .rulesInfo, .ready, .connected, .lastContact, .lagSequences, .lagSeconds, .checkpointAge,
            .documentsInFlight, .bytesInFlight, .writeRateLimit, .receiversDown, .receiverDownSeconds, .openDeadLetters,
            .waitingTimers, .pausedRule, .openBackfill, .backfillRead, .backfillExpected,
        ] + databaseFamilies + fleetFamilies + counted.map(\.family) + [
            rulesFired, timersFired, deadLetters, retries, requests, sent, received, decide, jq, write, settle,
        ]

    init(_ factory: PrometheusRegistry, bot: String) {
        self.factory = factory
        self.bot = bot
        let dimensions = [("bot", bot)]
        counters = Self.counted.map { Counter(label: $0.family.name, dimensions: dimensions, factory: factory) }
        decideSeconds = Timer(label: Self.decide.name, dimensions: dimensions, factory: factory)
        writeSeconds = Timer(label: Self.write.name, dimensions: dimensions, factory: factory)
        settleSeconds = factory.histogram(Self.settle.name, dimensions)
        bytesSent = Counter(label: Self.sent.name, dimensions: dimensions, factory: factory)
        bytesReceived = Counter(label: Self.received.name, dimensions: dimensions, factory: factory)
    }

    func note(_ event: RunEvent) {
        switch event {
        case .counted(let difference):
            for (counter, measure) in zip(counters, Self.counted) {
                let amount = measure.count(difference)
                if amount > 0 { counter.increment(by: amount) }
            }
            for (rule, count) in difference.rules.fired {
                counter(Self.rulesFired, ["rule": rule]).increment(by: count)
            }
        case .wrote, .progressed: break
        case .deadLettered(let rule): counter(Self.deadLetters, ["rule": rule ?? ""]).increment()
        case .retried(let cause, _): counter(Self.retries, ["cause": cause.description]).increment()
        case .decided(let span, let jqSpan):
            decideSeconds.recordNanoseconds(span.nanoseconds)
            if let jqSpan { jqSeconds.recordNanoseconds(jqSpan.nanoseconds) }
        case .sent(let span): writeSeconds.recordNanoseconds(span.nanoseconds)
        case .timersFired(let count): counter(Self.timersFired, [:]).increment(by: count)
        case .settled(let spans): settleSeconds.record(spans)
        }
    }

    /// - Parameter status: Nil if there was no answer.
    func noteRequest(method: String, status: Int?, sent: Int, received: Int) {
        let statusClass = status.map { "\($0 / 100)xx" } ?? "none"
        counter(Self.requests, ["method": method, "status": statusClass]).increment()
        bytesSent.increment(by: sent)
        bytesReceived.increment(by: received)
    }

    /// Created when the first program has run: bots without jq have no such metric.
    private var jqSeconds: Timer {
        Timer(label: Self.jq.name, dimensions: [("bot", bot)], factory: factory)
    }

    private func counter(_ family: MetricFamily, _ labels: KeyValuePairs<String, String>) -> Counter {
        let key = Key(name: family.name, labels: labels.map(\.value))
        if let known = labelled.withLock({ $0[key] }) { return known }
        let counter = Counter(
            label: family.name, dimensions: [("bot", bot)] + labels.map { ($0.key, $0.value) }, factory: factory)
        labelled.withLock { $0[key] = counter }
        return counter
    }

    func set(_ gauge: MetricFamily, _ value: Double, _ labels: KeyValuePairs<String, String> = [:]) {
        Meter(label: gauge.name, dimensions: [("bot", bot)] + labels.map { ($0.key, $0.value) }, factory: factory).set(
            value)
    }
}

/// The gauges of a bot.
extension MetricFamily {
    static let rulesInfo = MetricFamily(
        "changebot_rules_info", .gauge, "1 for the hash of the rules in force.")
    static let ready = MetricFamily("changebot_ready", .gauge, "1 if the bot is ready, as in /readyz.")
    static let connected = MetricFamily("changebot_connected", .gauge, "1 if the gateway answers.")
    static let lastContact = MetricFamily(
        "changebot_last_contact_timestamp_seconds", .gauge, "When the gateway last answered.")
    static let lagSequences = MetricFamily(
        "changebot_lag_sequences", .gauge, "Unfinished sequences, as far as the bot knows.")
    static let lagSeconds = MetricFamily(
        "changebot_lag_seconds", .gauge, "How long there have been unfinished changes.")
    static let checkpointAge = MetricFamily(
        "changebot_checkpoint_age_seconds", .gauge,
        "Time since the checkpoint was saved; it grows while nothing changes.")
    static let documentsInFlight = MetricFamily("changebot_in_flight_documents", .gauge, "Documents in progress.")
    static let bytesInFlight = MetricFamily(
        "changebot_in_flight_bytes", .gauge, "Bytes of the documents in progress.")
    static let writeRateLimit = MetricFamily(
        "changebot_write_rate_limit", .gauge, "Maximum writes per second, learned from refusals. +Inf: no limit.")
    static let receiversDown = MetricFamily(
        "changebot_receivers_down", .gauge, "Webhook receivers and attachment servers that are down.")
    static let receiverDownSeconds = MetricFamily(
        "changebot_receiver_down_seconds", .gauge,
        "How long a webhook receiver or attachment server has been down; 0 once it is up again.")
    static let waitingTimers = MetricFamily(
        "changebot_timers_waiting", .gauge, "Timers that have not fired.")
    static let pausedRule = MetricFamily(
        "changebot_rule_paused", .gauge, "1 while a rule is paused; 0 once it fires again.")
    static let openBackfill = MetricFamily(
        "changebot_backfill_open", .gauge, "1 while a rule is to be applied to all documents; 0 once that is done.")
    static let backfillRead = MetricFamily(
        "changebot_backfill_documents_read", .gauge, "Documents that the backfill of a rule has read.")
    static let backfillExpected = MetricFamily(
        "changebot_backfill_documents_expected", .gauge, "Documents in the database when the backfill of a rule began.")
    static let openDeadLetters = MetricFamily(
        "changebot_dead_letters_open", .gauge, "Dead letters in the state, by rule.")
}

extension Duration {
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds.multipliedReportingOverflow(by: 1_000_000_000).partialValue + attoseconds / 1_000_000_000
    }

    /// In seconds, with fractions.
    var inSeconds: Double { self / .seconds(1) }
}
