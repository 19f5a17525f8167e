package import Compression

/// Why an input can't be read on. All that was found before it has been handed out.
package struct SourceError: Error, Equatable, Sendable {
    package enum Reason: Equatable, Sendable {
        /// The system's own words.
        case unreadable(String)
        case packed(GzipFault)
        /// Neither a name nor the first byte tells how the documents are written.
        case unknownFormat
        /// The array, or the answer around it, is broken where no next document can be told.
        case structure(SourceFault.Reason)
        /// The header of a table is not as it must be.
        case header(String)
    }

    package let reason: Reason
    /// How far reading came.
    package let place: TextPlace
    /// What is left of the document that reading broke off in.
    let broken: SourceFault?

    package init(_ reason: Reason, at place: TextPlace) { self.init(reason, at: place, broken: nil) }

    init(_ reason: Reason, at place: TextPlace, broken: SourceFault?) {
        self.reason = reason
        self.place = place
        self.broken = broken
    }
}

extension SourceError: CustomStringConvertible {
    package var description: String {
        switch reason {
        case .unreadable(let words): "can't be read: \(words)"
        case .packed(let fault): "\(place): \(fault); what comes before was read"
        case .unknownFormat: "can't tell the format; name it with --format ndjson, json, csv or ejson"
        case .structure(let reason): "\(place): \(reason); what comes behind can't be told apart"
        case .header(let what): "\(place): \(what)"
        }
    }
}
