/// A format that an export can't write, named by the ending of a file.
package enum ForeignFormat: Sendable {
    case spreadsheet, table, compression, database, other

    private static let endings: [(format: ForeignFormat, endings: Set<Substring>)] = [
        (.spreadsheet, ["xls", "xlsx", "xlsm", "xlsb", "ods", "numbers"]),
        (.table, ["parquet", "avro", "orc", "arrow", "feather"]),
        (.compression, ["zip", "7z", "rar", "tar", "tgz", "bz2", "xz", "zst", "lz4", "br", "z"]),
        (.database, ["sqlite", "sqlite3", "db", "sql"]),
        (.other, ["bson", "ejson", "xml", "yaml", "yml", "toml", "html", "htm", "md", "pdf", "doc", "docx"]),
    ]

    /// Nil if the ending names none of these formats, or if there is none.
    package init?(fileName: String) {
        guard let ending = InputFormat.ending(of: fileName),
            let known = Self.endings.first(where: { $0.endings.contains(ending) })
        else { return nil }
        self = known.format
    }

    /// What the user can do instead.
    ///
    /// - Parameter fileName: The refused name.
    package func remedy(for fileName: String) -> String {
        let whole = fileName.lowercased().hasSuffix(".gz") ? String(fileName.dropLast(3)) : fileName
        let stem = whole.lastIndex(of: ".").map { String(whole[..<$0]) } ?? whole
        return switch self {
        case .spreadsheet, .table: "write a table, which such programs can read, with \(stem).csv"
        case .compression where InputFormat(fileName: stem) != nil:
            "the only compression is gzip: write \(stem).gz"
        case .compression: "the only compression is gzip: write \(stem).ndjson.gz"
        case .database:
            "write \(stem).ndjson, or copy the database into a file with: changebot replicate URL embedded:\(stem).sqlite"
        case .other: "write \(stem).ndjson, \(stem).json or \(stem).csv"
        }
    }
}
