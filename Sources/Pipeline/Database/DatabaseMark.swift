internal import GatewayClient
internal import LosslessJSON

/// The content of `_local/changebot.NAME`: identifies the database, and holds a copy of the checkpoint in case the
/// state directory is lost.
struct DatabaseMark: Sendable, Equatable {
    /// A random nonce, made once per database. If it is gone or different, the database was reset or restored.
    let identity: String
    /// Nil if none was saved yet.
    var checkpoint: SequenceID?
    /// The hash of the rules in force at the checkpoint.
    var ruleSetHash = ""
    /// The channels that were read up to it; nil for all.
    var channels: [String]?
    /// RFC 3339.
    var savedAt = ""

    init(identity: String) { self.identity = identity }

    /// A mark for a database that has none.
    static func new() -> DatabaseMark {
        var random = SystemRandomNumberGenerator()
        func half() -> String {
            let digits = String(random.next(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        return DatabaseMark(identity: half() + half())
    }

    /// With a copy of this checkpoint; nil if there is none.
    ///
    /// - Parameter channels: Those that were read up to it; nil for all.
    func copying(
        _ checkpoint: (sequence: SequenceID, ruleSetHash: String)?, channels: [String]?, savedAt: String
    ) -> DatabaseMark {
        var mark = self
        mark.checkpoint = checkpoint?.sequence
        mark.ruleSetHash = checkpoint?.ruleSetHash ?? ""
        mark.channels = channels
        mark.savedAt = savedAt
        return mark
    }

    /// Whether it has a copy of this checkpoint, whenever it was saved.
    func isCopy(of checkpoint: (sequence: SequenceID, ruleSetHash: String)?, channels: [String]?) -> Bool {
        self == copying(checkpoint, channels: channels, savedAt: savedAt)
    }

    /// Nil if `body` is not such a document.
    init?(_ body: [UInt8]) {
        guard let document = SmallJSON(body), let identity = document["identity"]?.string, !identity.isEmpty else {
            return nil
        }
        self.identity = identity
        checkpoint =
            switch document["checkpoint"] {
            case .number(let text): SequenceID(text)
            case .string(let text): SequenceID(Self.quoted(text))
            default: nil
            }
        ruleSetHash = document["rule_set"]?.string ?? ""
        channels = document["channels"]?.elements?.compactMap(\.string)
        savedAt = document["saved_at"]?.string ?? ""
    }

    private static func quoted(_ text: String) -> String {
        var json: [UInt8] = []
        json.appendJSONString(text.utf8)
        return String(decoding: json, as: UTF8.self)
    }

    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("identity", string: identity)
            writer.member("checkpoint", raw: checkpoint?.json ?? Array("null".utf8))
            writer.member("rule_set", string: ruleSetHash)
            if let channels {
                writer.name("channels")
                writer.array { writer in
                    for channel in channels { writer.string(channel) }
                }
            }
            writer.member("saved_at", string: savedAt)
        }
        return writer.bytes
    }
}
