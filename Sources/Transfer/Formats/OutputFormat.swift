/// The format of an export's file; the raw value is that of `--format`.
package enum OutputFormat: String, Sendable, CaseIterable {
    /// One document per line.
    case ndjson
    /// One array with one document per line.
    case json
    case csv

    /// Whether documents are rows of a table, which holds less than JSON.
    package var isTable: Bool {
        switch self {
        case .csv: true
        case .ndjson, .json: false
        }
    }

    /// Whether documents are the elements of one array. Documents for a table are first stored one per line.
    var isArray: Bool {
        switch self {
        case .json: true
        case .ndjson, .csv: false
        }
    }
}
