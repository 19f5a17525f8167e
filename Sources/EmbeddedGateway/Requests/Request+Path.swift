internal import HTTPServing

extension Request {
    /// The segments of the path, percent-decoded one by one, so that an escaped slash stays within its segment.
    ///
    /// Nil if an escape is not valid, or the path is not UTF-8 or does not begin with a slash.
    ///
    /// Like Sync Gateway, decodes names of documents and attachments twice if the target has no escaped slash.
    ///
    /// - Note: Source: `rest/routing.go: FixQuotedSlashes`, `rest/handler.go: PathVar` (3.x, 4.x).
    var path: [String]? {
        let encoded = encodedPath
        guard encoded.first == UInt8(ascii: "/") else { return nil }
        var segments: [String] = []
        for part in encoded.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let segment = PercentCoding.decode(part, plusIsSpace: false) else { return nil }
            segments.append(segment)
        }
        guard segments.count > 1, segments[1].utf8.first != UInt8(ascii: "_"), !hasEscapedSlash else { return segments }
        for index in segments.indices.dropFirst() {
            guard let name = PercentCoding.decode(Array(segments[index].utf8), plusIsSpace: false) else { return nil }
            segments[index] = name
        }
        return segments
    }

    private var hasEscapedSlash: Bool { target.contains("%2F") || target.contains("%2f") }
}
