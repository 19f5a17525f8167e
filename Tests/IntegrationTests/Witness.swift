import Logging
import TestKit

/// Counts the messages that contain this text.
struct Witness: LogHandler {
    let words: String
    let seen: EventCounter
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        if event.message.description.contains(words) { seen.increment() }
    }
}
