internal import Glibc
internal import HTTPServing

/// Splits a multipart body into parts.
///
/// - Note: Source: RFC 2046, section 5.1.1. Like Go's reader, it also accepts `LF` as a line break.
struct MultipartSplitter {
    struct Part {
        let fields: [HTTPField]
        let content: ArraySlice<UInt8>
    }

    private let body: [UInt8]
    private let delimiter: [UInt8]
    private var at: Int?

    /// - Parameter contentType: With a `boundary`.
    /// - Throws: ``RequestError`` 500 without a boundary, as in the real gateway.
    init(_ body: [UInt8], contentType: String) throws(RequestError) {
        guard let boundary = Self.boundary(contentType), !boundary.isEmpty else {
            throw RequestError(500, "Internal error: multipart: boundary is empty")
        }
        self.body = body
        delimiter = Array("--\(boundary)".utf8)
        at =
            body.starts(with: delimiter)
            ? delimiter.count : Self.find([0x0A] + delimiter, in: body, from: 0)?.upperBound
    }

    /// The next part. Nil after the last one.
    ///
    /// - Throws: ``RequestError`` 500 if the body ends before its last boundary.
    mutating func next() throws(RequestError) -> Part? {
        guard let start = at else { throw Self.cut }
        if body[start...].starts(with: "--".utf8) { return nil }
        guard let head = Self.find([0x0A], in: body, from: start)?.upperBound,
            let end = Self.find([0x0A] + delimiter, in: body, from: head - 1)
        else { throw Self.cut }
        at = end.upperBound
        return Self.part(body[head..<max(head, end.lowerBound)])
    }

    private static let cut = RequestError(500, "Internal error: multipart: NextPart: EOF")

    /// - Parameter text: Fields and content, possibly with the carriage return before the next boundary.
    private static func part(_ text: ArraySlice<UInt8>) -> Part {
        var fields: [HTTPField] = []
        var rest = text
        while let lineEnd = rest.firstIndex(of: 0x0A) {
            let line = String(decoding: rest[..<lineEnd], as: UTF8.self).filter { $0 != "\r" && $0 != "\r\n" }
            rest = rest[(lineEnd + 1)...]
            guard !line.isEmpty else { break }
            let colon = line.firstIndex(of: ":") ?? line.endIndex
            let value = line[colon...].dropFirst().drop { $0 == " " }
            fields.append(HTTPField(String(line[..<colon]), String(value)))
        }
        return Part(fields: fields, content: rest.last == 0x0D ? rest.dropLast() : rest)
    }

    private static func boundary(_ contentType: String) -> String? {
        for parameter in contentType.split(separator: ";").dropFirst() {
            let pair = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2, pair[0].filter({ $0 != " " }).lowercased() == "boundary" else { continue }
            return pair[1].filter { $0 != "\"" && $0 != " " }
        }
        return nil
    }

    /// - Parameter needle: Not empty.
    private static func find(_ needle: [UInt8], in text: [UInt8], from start: Int) -> Range<Int>? {
        text.withUnsafeBytes { text in
            var at = start
            while at >= 0, at + needle.count <= text.count, let base = text.baseAddress,
                let first = memchr(base + at, Int32(needle[0]), text.count - needle.count - at + 1)
            {
                let offset = base.distance(to: UnsafeRawPointer(first))
                if memcmp(first, needle, needle.count) == 0 { return offset..<offset + needle.count }
                at = offset + 1
            }
            return nil
        }
    }
}
