package import Compression

/// Why reading an input can't continue. All earlier documents were already returned.
package struct SourceError: Error, Equatable, Sendable {
    /// What stopped reading.
    package enum Reason: Equatable, Sendable {
        /// A system call failed; the string is the system's message.
        case unreadable(String)
        case compressed(GzipError)
        /// Neither the file name nor the first byte identifies the format.
        case unknownFormat
        /// The array, or the answer around it, is broken so that no next document can be found.
        case structure(SourceDocumentError.Reason)
        /// The text is not UTF-8. The string says what it is and what to do.
        case encoding(String)
        /// The header of a table is not valid; the string says why.
        case header(String)
    }

    /// May contain a table's column names.
    package let reason: Reason
    /// How far the input was read.
    package let place: TextPlace
    /// The incomplete document at which reading stopped.
    let broken: SourceDocumentError?

    /// - Parameter place: How far the input was read.
    package init(_ reason: Reason, at place: TextPlace) { self.init(reason, at: place, broken: nil) }

    init(_ reason: Reason, at place: TextPlace, broken: SourceDocumentError?) {
        self.reason = reason
        self.place = place
        self.broken = broken
    }
}

extension SourceError: CustomStringConvertible {
    /// `LINE:COLUMN: REASON`, without the path of the input; without a place for errors that have none.
    package var description: String {
        switch reason {
        case .unreadable(let reason): "can't be read: \(reason)"
        case .compressed(let error): "\(place): \(error); everything before it was read"
        case .unknownFormat: "can't detect the format; name it with --format ndjson, json, csv or ejson"
        case .structure(let reason): "\(place): \(reason); the documents after this place can't be read"
        case .encoding(let what), .header(let what): "\(place): \(what)"
        }
    }
}
