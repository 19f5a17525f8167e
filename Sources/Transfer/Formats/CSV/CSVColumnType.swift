/// What the cells of a table's column are.
package enum CSVColumnType: String, CaseIterable, Sendable {
    /// The characters of a string that is not empty.
    case string
    /// A JSON number, spelled as it is.
    case number
    /// `true` or `false`.
    case boolean
    /// JSON text of any value.
    case json

    /// For people, with an article.
    var expectation: String {
        switch self {
        case .string: "a string"
        case .number: "a number"
        case .boolean: "true or false"
        case .json: "JSON"
        }
    }
}
