/// How an export's documents are written down.
package enum OutputFormat: String, Sendable, CaseIterable {
    /// A document a line.
    case ndjson
    /// One array, a document a line in it.
    case json
    case csv
}
