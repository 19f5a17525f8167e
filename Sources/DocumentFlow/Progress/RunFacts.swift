package import GatewayClient

/// The status of a run.
package struct RunFacts: Sendable {
    /// What a run is doing.
    package enum Phase: String, Sendable {
        /// The gateway has not answered yet, or the state is not open.
        case connecting
        /// Another member of the fleet is active. This member waits to take over.
        case onStandby = "standing_by"
        /// An operator has drained this fleet member: it takes no work.
        case drained
        /// Reads the changes since its checkpoint.
        case catchingUp = "catching_up"
        /// Has read all changes, and waits for new ones.
        case following
        /// Finishes the work in progress.
        case stopping
    }

    package var phase = Phase.connecting
    package var counters = RunCounters()
    /// The last sequence that was read. Nil before the first answer.
    package var position: SequenceID?
    /// All changes up to this sequence are finished.
    package var safeSequence: SequenceID?
    /// The newest sequence of the database, as far as the run knows.
    package var newest: SequenceID?
    /// When the oldest unfinished change was read. Nil if all changes are finished.
    package var behindSince: ContinuousClock.Instant?
    /// When the checkpoint was last saved.
    package var savedAt: ContinuousClock.Instant?
    package var documentsInFlight = 0
    package var bytesInFlight = 0
    /// Documents per second, as learned from the gateway's refusals. Nil without a limit.
    package var writeRate: Double?
    /// The current outage. Nil if the gateway answers.
    package var outage: Outage.Status?
    /// The webhook receivers and attachment servers that are down.
    package var receivers: [(receiver: ReceiverOutages.Receiver, status: ReceiverOutages.Status)] = []

    /// The status of a run that has not begun.
    package init() {}

    /// Whether the run is idle: it waits for changes, and its status changes only when one arrives.
    package var isQuiet: Bool { phase == .following && behindSince == nil && outage == nil && receivers.isEmpty }

    /// Whether the gateway answers.
    package var isConnected: Bool { outage == nil && ![.connecting, .onStandby, .drained].contains(phase) }

    /// The number of unfinished sequences. Nil if the gateway's sequences are not numbers.
    package var lag: Int? {
        guard phase != .following || behindSince != nil else { return 0 }
        guard let safeSequence, let newest else { return nil }
        return safeSequence.distance(to: newest)
    }
}
