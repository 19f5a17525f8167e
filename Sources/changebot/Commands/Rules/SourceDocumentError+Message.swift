internal import Transfer

extension SourceDocumentError {
    /// The error as `LINE:COLUMN: what is wrong; what to do`.
    var message: String {
        switch reason {
        case .json: "\(place): not JSON: \(reason)\(beginning); \(remedy ?? "correct it")"
        case .notAnObject: "\(place): a document must be an object\(beginning); correct it"
        default: "\(self)"
        }
    }
}
