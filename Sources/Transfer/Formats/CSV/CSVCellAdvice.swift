/// What to do about a cell that is not of its column's type. Contains nothing of the cell.
enum CSVCellAdvice {
    static func remedy(for cell: ArraySlice<UInt8>, in column: CSVHeader.Column) -> String {
        let text = String(decoding: cell, as: UTF8.self)
        let path = CSVMemberName.names(in: Array(column.name.utf8))
        let asText = "take ':\(column.type.rawValue)' out of the header"
        switch column.type {
        case .number:
            let mistake = NumberMistake(text)
            let remedy = mistake.remedy
            guard let program = mistake.program, !path.isEmpty else { return "\(remedy), or \(asText) to import text" }
            return "\(remedy), or \(asText) and convert the text with a mapping (--map): "
                + MappingLine.convert(path, program)
        case .boolean:
            return "write true or false, or \(asText) to import text"
        case .json:
            return
                "text needs quotes in JSON, which CSV doubles (\"\"\"text\"\"\"); write that, or \(asText) to import "
                + "text"
        case .string: return "write text"
        }
    }
}

/// Why a text that looks like a number is none in JSON.
private struct NumberMistake {
    let remedy: String
    /// What converts such texts, as the rest of a program after the member's path. Nil if no program is certain.
    var program: String?

    private static let placeholders: Set = [
        "-", "--", "–", "?", "n/a", "na", "#n/a", "nan", "null", "none", "nil", "#value!", "#div/0!",
    ]

    init(_ text: String) {
        let trimmed = text.drop(while: \.isWhitespace).trimmingSuffix(while: \.isWhitespace)
        if Self.placeholders.contains(trimmed.lowercased()) {
            self.init(remedy: "leave the cell empty if there is no value")
        } else if let number = SpelledNumber(trimmed) {
            self = Self.mistake(number) ?? Self.surroundingSpace
        } else {
            self.init(remedy: "write a number such as 5 or 2.5")
        }
    }

    private static let surroundingSpace = NumberMistake(
        remedy: "remove the spaces around it", program: .converting(#"gsub("[^0-9.eE+-]"; "") | tonumber"#))

    private init(remedy: String, program: String? = nil) {
        self.remedy = remedy
        self.program = program
    }

    private static func mistake(_ number: SpelledNumber) -> NumberMistake? {
        if number.hasUnit {
            return Self(
                remedy: "write the number without its currency or unit, such as 5", program: program(for: number))
        }
        if number.sign == "−" { return Self(remedy: "write the minus as the ASCII character '-'") }
        switch number.separators {
        case .decimalComma:
            return Self(
                remedy: "write a decimal point instead of the comma, such as 2.5",
                program: .converting(#"sub(","; ".") | tonumber"#))
        case .ambiguousComma: return Self(remedy: "write 1000 if the comma separates thousands, 1.0 if decimals")
        case .thousands:
            return Self(
                remedy: "write it without separators of thousands and with a decimal point, such as 1000.50",
                program: program(for: number))
        case .none, .point: break
        }
        if number.sign == "+" {
            return Self(remedy: "write it without '+'", program: .converting(#"ltrimstr("+") | tonumber"#))
        }
        if number.digits.hasPrefix(".") || number.digits.hasSuffix(".") {
            return Self(remedy: "write digits on both sides of the decimal point, such as 0.5")
        }
        if number.digits.count > 1, number.digits.hasPrefix("0"), !number.digits.hasPrefix("0.") {
            return Self(remedy: "write it without leading zeros")
        }
        return nil
    }

    private static func program(for number: SpelledNumber) -> String? {
        guard number.sign != "−" else { return nil }
        switch number.separators {
        case .decimalComma, .thousands(decimal: ","):
            return .converting(#"gsub("[^0-9,-]"; "") | sub(","; ".") | tonumber"#)
        case .none, .thousands(decimal: "."), .point(isCertain: true):
            return .converting(#"gsub("[^0-9.-]"; "") | tonumber"#)
        case .ambiguousComma, .thousands, .point: return nil
        }
    }
}

/// A number as people spell it: digits, perhaps with a sign, separators, and a currency or a unit.
private struct SpelledNumber {
    enum Separators: Equatable {
        case none
        /// Decimals, but thousands if it is not certain: `1.000`.
        case point(isCertain: Bool)
        case decimalComma
        /// Thousands or decimals: `1,000`.
        case ambiguousComma
        /// Nil if it is not known.
        case thousands(decimal: Character?)
    }

    let sign: Character?
    /// With their separators.
    let digits: Substring
    let hasUnit: Bool

    /// Nil for other text.
    init?(_ text: Substring) {
        guard let first = text.firstIndex(where: { $0.isDigit || "+-−.,".contains($0) }),
            var last = text.lastIndex(where: \.isDigit), first <= last
        else { return nil }
        let next = text.index(after: last)
        if next < text.endIndex, text[next] == "." { last = next }
        let number = text[first...last]
        sign = number.first.flatMap { "+-−".contains($0) ? $0 : nil }
        digits = number.dropFirst(sign == nil ? 0 : 1)
        guard digits.allSatisfy({ $0.isDigit || ".,".contains($0) || Self.separatesThousands($0) }) else { return nil }
        hasUnit = first > text.startIndex || last < text.index(before: text.endIndex)
    }

    var separators: Separators {
        let groups = digits.split(omittingEmptySubsequences: false) { !$0.isDigit }
        let (point, comma) = (digits.lastIndex(of: "."), digits.lastIndex(of: ","))
        let hasBoth = point != nil && comma != nil
        if hasBoth || digits.contains(where: Self.separatesThousands) {
            return .thousands(decimal: (point ?? digits.startIndex) < (comma ?? digits.startIndex) ? "," : ".")
        }
        let isThreeDigits = groups.last?.count == 3 && (1...3).contains(groups[0].count)
        guard groups.count <= 2 else { return .thousands(decimal: comma == nil ? "," : ".") }
        if comma != nil { return isThreeDigits ? .ambiguousComma : .decimalComma }
        return point == nil ? .none : .point(isCertain: !isThreeDigits)
    }

    private static func separatesThousands(_ character: Character) -> Bool {
        character.isWhitespace || "'’".contains(character)
    }
}

extension Character {
    fileprivate var isDigit: Bool { isASCII && isWholeNumber }
}

extension String {
    /// The rest of a program after the path of a member that a document may lack.
    fileprivate static func converting(_ program: String) -> String { " // empty | " + program }
}

extension Substring {
    fileprivate func trimmingSuffix(while isOmitted: (Character) -> Bool) -> Substring {
        self[..<(lastIndex { !isOmitted($0) }.map { index(after: $0) } ?? startIndex)]
    }
}
