internal import Logging

/// Logs the first 20 messages of a kind, then one notice. Later messages are logged at debug level.
struct RepeatedMessages: Sendable {
    static let limit = 20

    /// The notice that is logged once after the limit.
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
