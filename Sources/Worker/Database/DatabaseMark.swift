internal import GatewayClient
internal import LosslessJSON

/// What `_local/changebot.NAME` holds: by which a database is known again, and a copy of the checkpoint for the day when
/// the state directory is lost.
struct DatabaseMark: Sendable, Equatable {
    /// Made up once for each database. If it is gone or another one, the database was reset or restored.
    let identity: String
    /// Nil if there is none yet.
    var checkpoint: SequenceID?
    /// Of the rules that were in force at the checkpoint.
    var ruleSetHash = ""
    /// Those that were read up to it; nil for all.
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

    /// - Returns: Nil if the document is not one of ours.
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
