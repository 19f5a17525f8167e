/// The format of an import's input; the raw value is that of `--format`.
package enum InputFormat: String, CaseIterable, Sendable {
    /// One document per line. Documents over several lines, and several on one line, are read too.
    case ndjson
    /// One array of documents, or a gateway's answer: `{"rows":[{"doc":…},…]}`, `{"docs":[…]}`. Any other beginning is
    /// read as NDJSON, because files with this ending often contain it.
    case json
    /// A table whose header names the members; see ``CSVReader``.
    case csv
    /// `json` or `ndjson` with MongoDB's types in wrapper objects; see ``ExtendedJSON``.
    case ejson

    /// The format by file name: `.ndjson`, `.jsonl`, `.json`, `.csv`, `.tsv`, with or without a final `.gz`, in any
    /// case. Nil for other names. ``CSVDelimiter/usual(in:)`` tells tables apart.
    package init?(fileName: String) {
        switch Self.ending(of: fileName) {
        case "ndjson", "jsonl": self = .ndjson
        case "json": self = .json
        case "csv", "tsv": self = .csv
        default: return nil
        }
    }

    /// The ending in lower case, without a final `.gz`; nil if there is none.
    static func ending(of fileName: String) -> Substring? {
        var parts = fileName.lowercased().split(separator: ".", omittingEmptySubsequences: false)
        if parts.last == "gz" { parts.removeLast() }
        return parts.count > 1 ? parts.last : nil
    }

    /// Whether documents are rows of a table.
    package var isTable: Bool {
        switch self {
        case .csv: true
        case .ndjson, .json, .ejson: false
        }
    }
}
