extension Gateway {
    /// The path of a document, or of one of its attachments.
    ///
    /// Sync Gateway decodes these paths twice unless a slash is escaped in them (`rest/routing.go`, `rest/handler.go:
    /// PathVar`; 3.x and 4.x). Text that the second decoding would change is therefore escaped twice. Intermediaries
    /// remove the segments `.` and `..` from paths; escaped ones are kept.
    ///
    /// The slash after `_design` is not escaped: CouchDB redirects the escaped form, to an address that may be wrong
    /// behind a proxy.
    func place(of id: DocumentID, attachment: String? = nil) -> GatewayRequest.Place {
        let segments = Self.segments(of: id) + (attachment.map { [$0] } ?? [])
        let path = segments.map(\.pathSegment).joined(separator: "/")
        let isAmbiguous = segments.contains { $0.utf8.contains(UInt8(ascii: "%")) || $0.isDotSegment }
        guard dialect.decodesPathsTwice, isAmbiguous, !path.contains("%2F") else { return .keyspace(path) }
        return .keyspace(path.split(separator: "%", omittingEmptySubsequences: false).joined(separator: "%25"))
    }
}

extension Gateway {
    private static let designPrefix = "_design/"

    private static func segments(of id: DocumentID) -> [String] {
        guard id.text.hasPrefix(designPrefix), id.text != designPrefix else { return [id.text] }
        return ["_design", String(id.text.dropFirst(designPrefix.count))]
    }
}

extension String {
    fileprivate var isDotSegment: Bool { self == "." || self == ".." }

    fileprivate var pathSegment: String {
        isDotSegment ? String(repeating: "%2E", count: utf8.count) : percentEncoded
    }
}
