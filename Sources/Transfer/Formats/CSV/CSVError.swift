/// Why documents can't be written as a table.
package enum CSVError: Error, Equatable, Sendable, CustomStringConvertible {
    case tooManyColumns(limit: Int)
    /// The document was not among those that the columns were made for.
    case unexpectedDocument

    /// The message for the user.
    package var description: String {
        switch self {
        case .tooManyColumns(let limit):
            "the documents have more than \(limit) different members; write NDJSON instead"
        case .unexpectedDocument:
            "a document does not fit the columns of the earlier documents; name them with --fields, or write NDJSON"
        }
    }
}
