/// How the documents of an input are written down.
package enum InputFormat: String, CaseIterable, Sendable {
    /// One document a line; documents that stand on several lines, or several on one line, are read as well.
    case ndjson
    /// One array of documents, or what a gateway answers: `{"rows":[{"doc":…},…]}`, `{"docs":[…]}`. Files that are
    /// named so often hold NDJSON: what does not begin as one of these is read as that.
    case json
    /// A table whose header names the members; see ``CSVReader``.
    case csv
    /// As `json` or `ndjson`, with MongoDB's types in wrapper objects; see ``ExtendedJSON``.
    case ejson

    /// What the name of a file says: `.ndjson`, `.jsonl`, `.json`, `.csv`, with or without a final `.gz`. Nil if it
    /// says nothing. Case does not matter.
    package init?(fileName: String) {
        var parts = fileName.lowercased().split(separator: ".", omittingEmptySubsequences: false)
        if parts.last == "gz" { parts.removeLast() }
        guard parts.count > 1 else { return nil }
        switch parts.last {
        case "ndjson", "jsonl": self = .ndjson
        case "json": self = .json
        case "csv": self = .csv
        default: return nil
        }
    }

    /// Whether its documents are the lines of a table.
    package var isTable: Bool {
        switch self {
        case .csv: true
        case .ndjson, .json, .ejson: false
        }
    }
}
