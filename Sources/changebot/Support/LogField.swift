internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import LosslessJSON

/// One metadata entry of a log line. Most values are text, such as `"\(count)"`; the key tells the actual type.
struct LogField {
    /// Keys whose values are always text, even if they look like numbers.
    private static let texts: Set<String> = [
        LogKey.id, LogKey.revision, LogKey.rule, LogKey.reason, LogKey.file, LogKey.attachment, LogKey.keyspace,
        LogKey.gateway, LogKey.manifest, LogKey.url, "name", "error", "path", "key", "database", "user", "fault",
        "what",
        "holder",
    ]
    private static let sequences: Set<String> = [
        LogKey.since, LogKey.checkpoint, LogKey.newest, LogKey.to, "sequence", "seq", "last_seq", "from",
    ]

    /// Keys of names that users can choose, at any length.
    private static let names: Set<String> = [LogKey.id, LogKey.attachment, LogKey.rule, "name", "key", "user"]
    /// The maximum length of a name in text logs, in characters. CouchDB ids can have kilobytes.
    private static let maxNameLength = 200

    let key: String
    let value: Logger.MetadataValue

    private var sequence: SequenceID? {
        switch value {
        case .stringConvertible(let sequence as SequenceID): sequence
        case .string(let text) where Self.sequences.contains(key): SequenceID(text)
        default: nil
        }
    }

    // MARK: - For people

    /// `key=value`, with quotes unless the value is one word. Nil if the value is empty. Sequences and long names
    /// are shortened.
    var text: String? {
        var text = sequence?.queryValue.shortSequence ?? value.description
        if Self.names.contains(key) { text = text.shortened(to: Self.maxNameLength) }
        guard !text.isEmpty else { return nil }
        guard text.utf8.contains(where: { $0 <= 0x20 || $0 == UInt8(ascii: "\"") }) else {
            return "\(key)=\(text)".visible
        }
        var quoted: [UInt8] = []
        quoted.appendJSONString(text.utf8)
        return "\(key)=\(String(decoding: quoted, as: UTF8.self))".visible
    }

    // MARK: - For programs

    /// Writes a JSON member: numbers as numbers, and sequences as the JSON that the gateway sent.
    func write(to writer: inout JSONWriter) {
        writer.name(key)
        if let sequence { return writer.raw(sequence.json) }
        if case .string(let text) = value, !Self.texts.contains(key), Self.isNumber(text) {
            return writer.raw(text.utf8)
        }
        Self.write(value, to: &writer)
    }

    private static func write(_ value: Logger.MetadataValue, to writer: inout JSONWriter) {
        switch value {
        case .string(let text): writer.string(text)
        case .stringConvertible(let number as any BinaryInteger): writer.integer(number)
        case .stringConvertible(let number as Double) where number.isFinite: writer.raw("\(number)".utf8)
        case .stringConvertible(let truth as Bool): writer.bool(truth)
        case .stringConvertible(let value): writer.string(value.description)
        case .array(let values): writer.array { writer in for value in values { write(value, to: &writer) } }
        case .dictionary(let members):
            writer.object { writer in
                for (key, value) in members.sorted(by: { $0.key < $1.key }) {
                    LogField(key: key, value: value).write(to: &writer)
                }
            }
        }
    }

    /// Whether the text is a JSON number that is short enough for all parsers to read without loss.
    private static func isNumber(_ text: String) -> Bool {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        let parts = digits.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard digits.utf8.count <= 15, let whole = parts.first, whole == "0" || !whole.hasPrefix("0") else {
            return false
        }
        return parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
    }
}
