import LosslessJSON
import TestKit

@testable import Transfer

/// Random documents with content that is difficult for tables.
struct RandomDocuments {
    var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    /// - Parameter isRegular: Whether members of one name mostly have one kind, as in real data.
    mutating func document(isRegular: Bool) -> String { object(depth: 3, isRegular) }

    private mutating func object(depth: Int, _ isRegular: Bool) -> String {
        var names = Self.names.shuffled(using: &random)
        let members = (0..<random.below(6)).map { _ in
            let name = names.removeLast()
            let kind = isRegular && !random.chance(20) ? name.utf8.count % 5 : random.below(8)
            return "\"\(name)\":" + value(kind, depth: depth - 1, isRegular)
        }
        return "{\(members.joined(separator: ", "))}"
    }

    private mutating func value(_ kind: Int, depth: Int, _ isRegular: Bool) -> String {
        switch kind {
        case 0, 1: return "\"\(random.pick(Self.strings))\""
        case 2: return random.pick(Self.numbers)
        case 3: return random.pick(["true", "false"])
        case 4 where depth > 0: return object(depth: depth, isRegular)
        case 5 where depth > 0:
            let elements = (0..<random.below(4)).map { _ in value(random.below(8), depth: depth - 1, isRegular) }
            return "[\(elements.joined(separator: ",\n"))]"
        case 6: return random.pick(["null", "{}", "[]", "\"\""])
        default: return "\"\(random.pick(Self.strings))\""
        }
    }

    private static let numbers = ["0", "-0", "1.10", "1e2", "1E+2", "12345678901234567890", "1e400", "-2.5e-3"]
    private static let strings = [
        "a", " a ", "a,b", "a\\\"b", "\\\"", "line\\nbreak", "\\r", "\\r\\n", "=1+1", "true", "1", "null", "{}",
        "\\u0000",
        "Gr\u{FC}\u{DF}e", "\\ud83d\\ude00", "\\ud83d", "x\\udc00y", "\\\\ud800", "\u{FEFF}", "\u{FFFD}", "\\/", "\\t",
    ]
    private static let names = [
        "", "_id", "a", "b", "type", "task", "a.b", "a:number", "x:", ".", "\\\\", "e", "\\\\e", "\\n", "\\\"q\\\"",
        ",",
        " ", "\u{FEFF}n", "\\ud800", "\\udc00z", "\u{E4}", "\\u00e4o", "n\\/m", "\\ud83d\\ude00",
    ]
}

/// A canonical spelling of a value: members sorted by name, only the last of duplicates, numbers as written.
func canonical(_ value: JSONValue) -> String {
    switch value.kind {
    case .null, .true, .false, .number: return String(decoding: value.bytes, as: UTF8.self)
    case .string: return canonicalString(value)
    case .array: return "[" + value.elements.map(canonical).joined(separator: ",") + "]"
    case .object:
        var members: [String: String] = [:]
        for member in value.members { members[canonicalString(member.name)] = canonical(member.value) }
        return "{" + members.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: ",") + "}"
    }
}

private func canonicalString(_ value: JSONValue) -> String {
    (value.stringParts ?? []).map { "\($0.text) \($0.loneSurrogate)" }.joined(separator: "+")
}
