/// How an export's documents are written down.
package enum OutputFormat: String, Sendable, CaseIterable {
    /// A document a line.
    case ndjson
    /// One array, a document a line in it.
    case json
    case csv

    /// Whether its documents are the lines of a table, which tells less of them than JSON does.
    package var isTable: Bool {
        switch self {
        case .csv: true
        case .ndjson, .json: false
        }
    }
}
