internal import DocumentFlow
internal import Encodings
internal import Logging
internal import LosslessJSON

/// One line on stderr, as text or JSON, with a final line feed. Metadata can't start another line or move the cursor.
struct LogLine {
    let level: Logger.Level
    let message: String
    /// Sorted by key.
    private let fields: [LogField]
    private let time = Timestamp.now

    init(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata = [:]) {
        self.level = level
        self.message = message
        fields = metadata.sorted { $0.key < $1.key }.map { LogField(key: $0.key, value: $0.value) }
    }

    /// - Parameter code: The exit code of the process.
    init(_ level: Logger.Level, _ message: String, exit code: ExitStatus?) {
        self.init(level, message, code.map { ["exit": .stringConvertible($0.rawValue)] } ?? [:])
    }

    /// The line for people: `2026-11-20T10:00:00Z info connected gateway=…`. Empty fields are left out.
    var text: [UInt8] {
        let words = ["\(time) \(level) \(message.visible)"] + fields.compactMap(\.text)
        return Array((words.joined(separator: " ") + "\n").utf8)
    }

    /// The line as a JSON object.
    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("time", string: time)
            writer.member("level", string: level.rawValue)
            writer.member("message", string: message)
            for field in fields { field.write(to: &writer) }
        }
        return writer.bytes.visibleJSON + [UInt8(ascii: "\n")]
    }
}
