internal import LosslessJSON

/// The program of a rule's `if:`, and the values that it saw.
package struct ConditionExplanation: Hashable, Sendable {
    /// The program's text, shortened and safe to print.
    package let program: String
    /// Entries such as `.edit is 3`: one for each place of the document and each variable that the program certainly
    /// reads.
    package let values: [String]
}

extension ConditionExplanation {
    /// The maximum number of values that are shown.
    private static let valueLimit = 8

    /// - Parameters:
    ///   - change: The program's `$change`.
    ///   - match: The program's `$match`.
    init(_ program: String, _ input: DecisionInput, change: [UInt8], match: [UInt8], now: Int) {
        let reading = ProgramReading(program)
        var values = reading.paths.map { path in
            Self.line(Self.spelling(path), Self.find(path, in: input.document.root))
        }
        for (name, path) in reading.variables {
            let json = name == "now" ? Array("\(now)".utf8) : name == "change" ? change : match
            guard let root = try? JSONText(json).root else { continue }
            values.append(Self.line("$" + name + Self.spelling(path), Self.find(path, in: root)))
        }
        self.program = DisplayText.plain(
            program.split { $0.isWhitespace }.joined(separator: " "), limit: DisplayText.limit)
        self.values = Array(values.prefix(Self.valueLimit))
    }

    private static func line(_ place: String, _ value: JSONValue?) -> String {
        "\(DisplayText.plain(place)) is \(value.map { DisplayText.json($0) } ?? "missing")"
    }

    private static func spelling(_ path: [ProgramReading.Step]) -> String {
        path.map { step in
            switch step {
            case .element(let position): return "[\(position)]"
            case .member(let name):
                let isPlain = name.utf8.allSatisfy {
                    (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_")
                }
                return isPlain ? ".\(name)" : ".\"\(name)\""
            }
        }.joined()
    }

    private static func find(_ path: [ProgramReading.Step], in value: JSONValue) -> JSONValue? {
        path.reduce(value) { value, step in
            guard let value else { return nil }
            switch step {
            case .member(let name): return value.kind == .object ? value[name] : nil
            case .element(let position): return value.kind == .array ? value.element(position) : nil
            }
        }
    }
}
