import TestKit

/// Generates random documents, each in one of the many spellings that JSON allows.
struct RandomJSON {
    var random: SplitMix64
    /// Largest number of members or elements.
    var width = 5

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    mutating func document() -> Model { object(depth: 4) }

    mutating func value(depth: Int) -> Model {
        switch random.below(depth > 0 ? 9 : 6) {
        case 0: .null
        case 1: .bool(random.chance(2))
        case 2, 3: .number(random.pick(Self.numbers))
        case 4, 5: .string(random.pick(Self.strings))
        case 6: array(depth: depth)
        default: object(depth: depth)
        }
    }

    mutating func object(depth: Int) -> Model {
        var names = Self.names.shuffled(using: &random)
        return .object(
            (0..<random.below(width + 1)).map { _ in
                Model.Member(name: names.removeLast(), value: value(depth: depth - 1))
            })
    }

    private mutating func array(depth: Int) -> Model {
        .array((0..<random.below(width + 1)).map { _ in value(depth: depth - 1) })
    }

    // MARK: Spelling

    mutating func text(_ model: Model) -> [UInt8] {
        switch model {
        case .null: Array("null".utf8)
        case .bool(let value): Array((value ? "true" : "false").utf8)
        case .number(let text): Array(text.utf8)
        case .string(let value): string(value)
        case .array(let elements): list("[", "]", elements.map { text($0) })
        case .object(let members):
            list("{", "}", members.map { string($0.name) + space() + [UInt8(ascii: ":")] + space() + text($0.value) })
        }
    }

    private mutating func list(_ opening: String, _ closing: String, _ items: [[UInt8]]) -> [UInt8] {
        var result = Array(opening.utf8) + space()
        for (index, item) in items.enumerated() {
            if index > 0 { result += [UInt8(ascii: ",")] + space() }
            result += item + space()
        }
        return result + Array(closing.utf8)
    }

    private mutating func space() -> [UInt8] {
        random.chance(3) ? (0..<random.below(3)).map { _ in random.pick([0x20, 0x0A, 0x0D, 0x09]) } : []
    }

    private mutating func string(_ value: String) -> [UInt8] {
        var result = "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "/" where random.chance(2): result += "\\/"
            case "\n" where random.chance(2): result += "\\n"
            case _ where scalar.value < 0x20 || random.chance(8):
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16, uppercase: random.chance(2))
                    result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            default: result.unicodeScalars.append(scalar)
            }
        }
        return Array((result + "\"").utf8)
    }

    private static let numbers = [
        "0", "-0", "1", "-1", "42", "1.10", "1.1", "0.30000000000000004", "1e2", "1E+2", "-2.5e-3", "1e400", "1e-400",
        "9007199254740993", "-9223372036854775808", "18446744073709551615", "3.14159265358979323846264338327950288",
    ]
    private static let strings = [
        "", "a", "apple", "Grüße", "日本語", "😀", "a\"b\\c/d", "line\nbreak\ttab", "\u{01}\u{1F}", "\u{7F}\u{80}",
        "2026-11-20T10:00:00Z", "}],\"a\":{[", "\u{FFFF}\u{10FFFF}\u{2028}",
    ]
    private static let names = [
        "", "_id", "_rev", "a", "b", "type", "task", "naïve", "日本", "😀", "a/b", "m~n", "with \"quotes\"", "\\", "0",
        "-",
    ]
}
