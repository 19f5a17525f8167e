internal import Logging

/// Logs the first messages of a kind, and says so when it stops. What comes after is logged for debugging only.
struct RepeatedMessages: Sendable {
    static let limit = 20

    /// Said once, instead of the next one.
    let last: Logger.Message
    private var count = 0

    init(last: Logger.Message) { self.last = last }

    mutating func log(
        _ message: Logger.Message, _ level: Logger.Level, to logger: Logger, _ metadata: Logger.Metadata
    ) {
        count += 1
        logger.log(level: count <= Self.limit ? level : .debug, message, metadata: metadata)
        if count == Self.limit + 1 { logger.log(level: level, last) }
    }
}
