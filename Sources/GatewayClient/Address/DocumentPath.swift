extension Gateway {
    /// The path of a document, or of one of its attachments.
    ///
    /// Sync Gateway decodes these paths twice unless a slash is escaped in them (`rest/routing.go`, `rest/handler.go:
    /// PathVar`; 3.x and 4.x): what would become something else by that is escaped twice. Segments `.` and `..` are
    /// taken out of paths on the way; escaped they stay.
    func place(of id: DocumentID, attachment: String? = nil) -> GatewayRequest.Place {
        let segments = [id.text] + (attachment.map { [$0] } ?? [])
        let path = segments.map(\.pathSegment).joined(separator: "/")
        let isAmbiguous = segments.contains { $0.utf8.contains(UInt8(ascii: "%")) || $0.isDotSegment }
        guard dialect.decodesPathsTwice, isAmbiguous, !path.contains("%2F") else { return .keyspace(path) }
        return .keyspace(path.split(separator: "%", omittingEmptySubsequences: false).joined(separator: "%25"))
    }
}

extension String {
    fileprivate var isDotSegment: Bool { self == "." || self == ".." }

    fileprivate var pathSegment: String {
        isDotSegment ? String(repeating: "%2E", count: utf8.count) : percentEncoded
    }
}
