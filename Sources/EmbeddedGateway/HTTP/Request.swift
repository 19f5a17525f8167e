/// A request for the router: independent of a socket, with its whole body in memory.
struct Request: Sendable {
    let method: String
    /// Path and query as in the request line, still percent-encoded.
    let target: String
    let fields: [HTTPField]
    let body: [UInt8]

    init(_ method: String, _ target: String, fields: [HTTPField] = [], body: [UInt8] = []) {
        self.method = method
        self.target = target
        self.fields = fields
        self.body = body
    }

    /// The first value of a header field; the name is compared case-insensitively.
    func field(_ name: String) -> String? {
        fields.first { $0.isNamed(name) }?.value
    }

    /// The segments of the path, percent-decoded one by one, so that an escaped slash stays within its segment.
    ///
    /// Nil if an escape is not valid, or the path is not UTF-8 or does not begin with a slash.
    ///
    /// Like Sync Gateway, it decodes names of documents and attachments twice if the target has no escaped slash.
    ///
    /// - Note: Source: `rest/routing.go: FixQuotedSlashes`, `rest/handler.go: PathVar` (3.x, 4.x).
    var path: [String]? {
        let encoded = pathAndQuery.prefix { $0 != UInt8(ascii: "?") }
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

    var query: Query { Query(target) }

    /// The target without scheme and host, which a client may send too.
    ///
    /// - Note: Source: RFC 9112, section 3.2.2.
    private var pathAndQuery: Substring.UTF8View {
        for scheme in ["http://", "https://"] where target.lowercased().hasPrefix(scheme) {
            return target.dropFirst(scheme.count).drop { $0 != "/" }.utf8
        }
        return target[...].utf8
    }
}

/// The query parameters; the first one of a name counts.
struct Query: Sendable {
    private let items: [(name: String, value: String)]

    init(_ target: String) {
        guard let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else {
            items = []
            return
        }
        items = target.utf8[mark...].dropFirst().split(separator: UInt8(ascii: "&")).compactMap { pair in
            let name = pair.prefix { $0 != UInt8(ascii: "=") }
            let value = pair.dropFirst(name.count + 1)
            guard let name = PercentCoding.decode(name), let value = PercentCoding.decode(value) else { return nil }
            return (name, value)
        }
    }

    subscript(name: String) -> String? { items.first { $0.name == name }?.value }

    /// True only for `true`, as in Sync Gateway.
    func flag(_ name: String) -> Bool { self[name] == "true" }
}

enum PercentCoding {
    /// Nil if an escape is not valid or the result is not UTF-8.
    static func decode(_ text: some Collection<UInt8>, plusIsSpace: Bool = true) -> String? {
        var bytes: [UInt8] = []
        var at = text.startIndex
        while at != text.endIndex {
            let byte = text[at]
            at = text.index(after: at)
            if byte == UInt8(ascii: "%") {
                guard let high = hexDigit(text, &at), let low = hexDigit(text, &at) else { return nil }
                bytes.append(high << 4 | low)
            } else {
                bytes.append(byte == UInt8(ascii: "+") && plusIsSpace ? UInt8(ascii: " ") : byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func hexDigit<Text: Collection<UInt8>>(_ text: Text, _ at: inout Text.Index) -> UInt8? {
        guard at != text.endIndex else { return nil }
        defer { at = text.index(after: at) }
        return Character(Unicode.Scalar(text[at])).hexDigitValue.map(UInt8.init)
    }
}
