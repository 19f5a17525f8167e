internal import HTTPServing

/// The requests that a fault applies to.
struct RequestSelection: Sendable {
    /// Nil for all.
    var kinds: Set<RequestKind>?
    var method: String?
    /// The kind of changes feed. Nil for all.
    var feed: FeedRequest.Feed?

    func includes(_ request: Request, _ kind: RequestKind) -> Bool {
        guard kinds?.contains(kind) ?? true, method.map({ $0 == request.method }) ?? true else { return false }
        guard let feed else { return true }
        return kind == .changes && feed == (try? FeedRequest(request.decompressed(), .anonymous).feed)
    }
}

extension RequestSelection: CustomStringConvertible {
    var description: String {
        let words = [method, feed?.rawValue] + (kinds ?? []).map(\.rawValue).sorted().map(Optional.some)
        let text = words.compactMap(\.self).joined(separator: " ")
        return text.isEmpty ? "" : " on \(text)"
    }
}

/// The kind of a request. The raw values are the words in a fault file.
enum RequestKind: String, CaseIterable, Sendable {
    /// `/DB/` itself.
    case database
    case session = "_session"
    case changes = "_changes"
    case bulkDocuments = "_bulk_docs"
    case bulkGet = "_bulk_get"
    case revisionsDifference = "_revs_diff"
    case allDocuments = "_all_docs"
    case local = "_local"
    case document
    case attachment

    /// - Parameter path: The segments of the path, the keyspace first.
    init(_ path: [String]) {
        let path = path.dropFirst()
        switch path.first ?? "" {
        case "": self = .database
        case let name where name.hasPrefix("_"): self = RequestKind(rawValue: name) ?? .document
        default: self = path.count > 1 ? .attachment : .document
        }
    }
}
