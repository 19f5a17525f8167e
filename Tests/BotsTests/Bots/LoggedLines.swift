import Locking
import Logging

/// Records log messages.
final class LoggedLines: Sendable {
    struct Line: Sendable {
        let level: Logger.Level
        let message: String
        let metadata: Logger.Metadata
    }

    private struct Handler: LogHandler {
        let lines: LoggedLines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.MetadataValue? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let line = Line(
                level: event.level, message: event.message.description, metadata: event.metadata ?? [:])
            lines.kept.withLock { $0.append(line) }
        }
    }

    private let kept = Locked<[Line]>([])

    var all: [Line] { kept.withLock(\.self) }

    var logger: Logger { Logger(label: "test") { _ in Handler(lines: self) } }
}
