internal import Foundation
internal import Logging
internal import LosslessJSON
internal import Pipeline

/// Log lines on stderr: for people (`2026-11-20T10:00:00Z info connected gateway=…`) or as JSON.
struct StandardErrorLog: LogHandler {
    enum Format: String, CaseIterable {
        case text, json
    }

    let format: Format
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let fields = metadata.merging(event.metadata ?? [:]) { _, new in new }.sorted { $0.key < $1.key }
        let time = Timestamp.now
        var line: [UInt8]
        switch format {
        case .json:
            var writer = JSONWriter()
            writer.object { writer in
                writer.member("time", string: time)
                writer.member("level", string: event.level.rawValue)
                writer.member("message", string: event.message.description)
                for field in fields { writer.member(field.key, string: field.value.description) }
            }
            line = writer.bytes
        case .text:
            line = Array("\(time) \(event.level) \(event.message)".utf8)
            for field in fields where !field.value.description.isEmpty {
                line += Array(" \(field.key)=".utf8) + Self.quoted(field.value.description)
            }
        }
        line.append(UInt8(ascii: "\n"))
        StandardErrorOutput.shared.write(line)
    }

    /// In quotes if it would not read as one word.
    private static func quoted(_ value: String) -> [UInt8] {
        guard value.utf8.contains(where: { $0 <= 0x20 || $0 == UInt8(ascii: "\"") || $0 == 0x7F }) else {
            return Array(value.utf8)
        }
        var quoted: [UInt8] = []
        quoted.appendJSONString(value.utf8)
        return quoted
    }
}
