internal import LosslessJSON

/// A program that computes a member's new value from its old one, so that it differs each time: `.n + 1`,
/// `(.n // 0) + 1`, `.list + ["x"]`, `.n += 1 | .n`.
///
/// Recognizes only these forms, because arithmetic alone proves nothing: `(.price * 100 | round) / 100` and `.n + 0`
/// are stable after the first time.
struct CounterProgram {
    /// The names of the members on the path to the value.
    let path: [String]

    /// Nil if the program has another form.
    init?(_ program: String) {
        let text = program.trimmed
        guard let path = Self.path(ofSum: text) ?? Self.path(ofUpdate: text) else { return nil }
        self.path = path
    }

    /// `PATH op VALUE`, `(PATH // DEFAULT) op VALUE`, or the same with the value first.
    private static func path(ofSum text: Substring) -> [String]? {
        if let operand = text.prefixMatch(of: /\([^()]*\)|(?:[^\s()+*\/"-]|"[^"\\]*")+/) {
            let rest = text[operand.range.upperBound...]
            if let match = rest.wholeMatch(of: /\s*([-+*\/])\s*(.+)/), changes(match.1, match.2),
                let path = path(ofOperand: operand.0)
            {
                return path
            }
        }
        guard let match = text.wholeMatch(of: /(.+?)\s*([+*])\s*(.+)/), changes(match.2, match.1) else { return nil }
        return path(ofOperand: match.3)
    }

    /// `PATH op= VALUE | PATH`.
    private static func path(ofUpdate text: Substring) -> [String]? {
        guard let match = text.wholeMatch(of: /(\.[^\s()|]+?)\s*([-+*\/])=\s*(.+?)\s*\|\s*(\.[^\s()|]+)/),
            match.1 == match.4, changes(match.2, match.3)
        else { return nil }
        return path(match.1)
    }

    private static func path(ofOperand text: Substring) -> [String]? {
        guard text.hasPrefix("(") else { return path(text) }
        let inner = text.dropFirst().dropLast()
        guard let match = inner.wholeMatch(of: /\s*(\.\S+)\s*\/\/\s*(.+?)\s*/), json(match.2) != nil else { return nil }
        return path(match.1)
    }

    /// The names of a path, optionally with a default for a missing value: `.a // 0`.
    static func path(ofValue program: String) -> [String]? { path(program.trimmed) ?? path(ofOperand: "(\(program))") }

    /// The names of `.a."b c"["d"]`. Nil for any other text.
    static func path(_ text: Substring) -> [String]? {
        guard text.wholeMatch(of: /(\.[A-Za-z_][A-Za-z0-9_]*|\."[^"\\]*"|\.?\["[^"\\]*"\])+/) != nil,
            let steps = ProgramReading(String(text)).paths.first
        else { return nil }
        return steps.compactMap { step in
            guard case .member(let name) = step else { return nil }
            return name
        }
    }

    /// Whether the operation certainly changes the value.
    private static func changes(_ operation: Substring, _ operand: Substring) -> Bool {
        guard let value = json(operand)?.root else { return false }
        switch (operation, value.kind) {
        case ("+", .number), ("-", .number): return number(value) != 0
        case ("*", .number), ("/", .number): return number(value).map { $0 != 0 && $0 != 1 } ?? false
        case ("+", .string): return value.utf8?.isEmpty == false
        case ("+", .array): return !Array(value.elements).isEmpty
        default: return false
        }
    }

    private static func number(_ value: JSONValue) -> Double? { Double(String(decoding: value.bytes, as: UTF8.self)) }

    private static func json(_ text: Substring) -> JSONText? { try? JSONText(Array(text.utf8)) }
}
