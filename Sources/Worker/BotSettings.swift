package import GatewayClient
package import Pipeline

/// What a `run` is to do. Every default is written here and nowhere else.
package struct BotSettings: Sendable {
    package enum Start: Sendable, Equatable {
        /// Everything: from the first change.
        case beginning
        /// Only what changes from now on.
        case now
        case sequence(SequenceID)
    }

    /// Ends when what the feed holds at the start is worked off, instead of following it.
    package var isOneShot = false
    /// Where to start if there is no checkpoint. Nil: the beginning.
    package var since: Start?
    package var delivery = Delivery.Settings()

    package init() {}
}
