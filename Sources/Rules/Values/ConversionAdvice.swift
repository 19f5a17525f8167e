internal import LosslessJSON

// What to do about a computed value of the wrong type. The texts follow a message; empty if no conversion is likely.
extension JSONText {
    /// For a value that must be a number.
    var numberRemedy: String {
        guard let text = root.string else { return "" }
        if Self.isNumber(text) { return "; add | tonumber to the program" }
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 2, Self.isNumber(parts.joined(separator: ".")) else { return "" }
        return #"; add | sub(","; ".") | tonumber to the program"#
    }

    /// For a value that must be text.
    var textRemedy: String {
        switch root.kind {
        case .number, .true, .false: "; add | tostring to the program"
        case .null, .string, .array, .object: ""
        }
    }

    private static func isNumber(_ text: String) -> Bool { (try? JSONText(text))?.root.kind == .number }
}
