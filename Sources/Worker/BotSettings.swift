package import DocumentFlow
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
    /// Of the bot: what it keeps in the database is named after it.
    package var name = "changebot"
    package var following = FeedReader.Following.longpoll
    /// Only what is in these channels of a Sync Gateway. Nil: all that the user may see.
    package var channels: [String]?
    package var effectLimits: EffectLimits? = EffectLimits()
    package var onReset = ResetPolicy.restart
    /// How often a look is taken at the mark in the database.
    package var lookInterval: Duration = .seconds(20)
    package var delivery = Delivery.Settings()

    package init() {}
}
