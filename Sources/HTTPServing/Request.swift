/// A request: independent of a socket, with its whole body in memory.
package struct Request: Sendable {
    /// As sent: `GET`.
    package let method: String
    /// Path and query as in the request line, still percent-encoded.
    package let target: String
    /// Header fields in order of arrival.
    package let fields: [HTTPField]
    /// Empty if there is none.
    package let body: [UInt8]

    /// Creates a request as a client would send it.
    package init(_ method: String, _ target: String, fields: [HTTPField] = [], body: [UInt8] = []) {
        self.method = method
        self.target = target
        self.fields = fields
        self.body = body
    }

    /// The first value of a header field; the name is compared case-insensitively.
    package func field(_ name: String) -> String? {
        fields.first { $0.isNamed(name) }?.value
    }

    /// The target without its query and, if the client sent them, scheme and host.
    ///
    /// - Note: Source: RFC 9112, section 3.2.2.
    package var encodedPath: Substring.UTF8View {
        var path = target[...].utf8
        for scheme in ["http://", "https://"] where target.lowercased().hasPrefix(scheme) {
            path = path.dropFirst(scheme.count).drop { $0 != UInt8(ascii: "/") }
        }
        return path.prefix { $0 != UInt8(ascii: "?") }
    }

    /// The parameters behind `?`.
    package var query: Query { Query(target) }
}

/// The query parameters. If a name occurs twice, the first one counts.
package struct Query: Sendable {
    private let items: [(name: String, value: String)]

    /// - Parameter target: Path and query, percent-encoded.
    package init(_ target: String) {
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

    /// The value; nil if the parameter is missing.
    package subscript(name: String) -> String? { items.first { $0.name == name }?.value }

    /// True only for `true`, as in Sync Gateway.
    package func flag(_ name: String) -> Bool { self[name] == "true" }
}

/// Percent-encoding of URLs.
package enum PercentCoding {
    /// Nil if an escape is not valid or the result is not UTF-8.
    package static func decode(_ text: some Collection<UInt8>, plusIsSpace: Bool = true) -> String? {
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
