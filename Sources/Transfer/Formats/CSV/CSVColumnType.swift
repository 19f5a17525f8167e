/// The type of a CSV column; the raw value is the suffix in the header.
package enum CSVColumnType: String, CaseIterable, Sendable {
    /// The characters of a non-empty string.
    case string
    /// A JSON number in its original spelling.
    case number
    /// `true` or `false`.
    case boolean
    /// Any value as JSON text.
    case json

    /// For messages, with an article.
    var expectation: String {
        switch self {
        case .string: "a string"
        case .number: "a number"
        case .boolean: "true or false"
        case .json: "JSON"
        }
    }
}
