package import Logging

extension Logger {
    /// The level of steps that an operator wants to see of a bot, but not of each of its many databases.
    package var stepLevel: Logger.Level { self[metadataKey: LogKey.database] == nil ? .notice : .info }
}
