package import GatewayClient

/// Where a run stands, for whoever asks.
package struct RunFacts: Sendable {
    /// What a run is doing.
    package enum Phase: String, Sendable {
        /// The gateway has not answered yet, or the state is not open.
        case connecting
        /// Another member of the fleet runs; this one waits to take over.
        case standingBy = "standing_by"
        /// Somebody has asked this member of a fleet to take no work.
        case drained
        /// It reads the changes since its checkpoint.
        case catchingUp = "catching_up"
        /// It has read everything, and waits for changes.
        case following
        /// It finishes the work under way.
        case stopping
    }

    package var phase = Phase.connecting
    package var counters = RunCounters()
    /// The last sequence that was read; nil before the first answer.
    package var position: SequenceID?
    /// Every change up to here is finished.
    package var safeSequence: SequenceID?
    /// The newest sequence of the database, as far as the run knows.
    package var newest: SequenceID?
    /// Since when there have been changes that are not finished; nil if there are none.
    package var behindSince: ContinuousClock.Instant?
    /// When the checkpoint was saved last.
    package var savedAt: ContinuousClock.Instant?
    package var documentsInFlight = 0
    package var bytesInFlight = 0
    /// Documents a second, as learned from the gateway's refusals; nil: no limit.
    package var writeRate: Double?
    /// The outage that lasts now; nil if the gateway answers.
    package var outage: Outage.Status?
    /// The receivers of webhooks, and servers of attachments, that are down.
    package var receivers: [(receiver: ReceiverOutages.Receiver, status: ReceiverOutages.Status)] = []

    /// A run that has not begun.
    package init() {}

    /// Whether the run waits for changes, and will say so when one comes.
    package var isQuiet: Bool { phase == .following && behindSince == nil && outage == nil && receivers.isEmpty }

    /// Whether the gateway answers.
    package var isConnected: Bool { outage == nil && ![.connecting, .standingBy, .drained].contains(phase) }

    /// How many sequences are not finished yet; nil if the gateway's sequences don't say.
    package var lag: Int? {
        guard phase != .following || behindSince != nil else { return 0 }
        guard let safeSequence, let newest else { return nil }
        return safeSequence.distance(to: newest)
    }
}
