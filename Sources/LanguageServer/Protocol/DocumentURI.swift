/// The URI of a document, as editors write it.
///
/// - Note: Source: RFC 3986; RFC 8089 (`file:`).
struct DocumentURI {
    /// The path on this machine. Nil for other schemes, such as `untitled:`.
    let path: String?
    /// A name for messages, with the ending of the file.
    let name: String

    init(_ text: String) {
        let scheme = text.prefix { $0 != ":" }
        let rest = text.dropFirst(scheme.count + 1)
        guard scheme.lowercased() == "file", rest.hasPrefix("//") else {
            path = nil
            name = Self.decoded(rest.prefix { $0 != "?" && $0 != "#" })
            return
        }
        let afterHost = rest.dropFirst(2).drop { $0 != "/" }
        let host = rest.dropFirst(2).prefix { $0 != "/" }.lowercased()
        let path = Self.decoded(afterHost.prefix { $0 != "?" && $0 != "#" })
        // A file name can't have a zero byte.
        let isHere = ["", "localhost"].contains(host) && !path.isEmpty && !path.utf8.contains(0)
        self.path = isHere ? path : nil
        name = path
    }

    private static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16),
                rest.first != UInt8(ascii: "+"), rest.first != UInt8(ascii: "-")
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The URI of a path, without `.` and `..`.
    static func file(_ path: String) -> String {
        var parts: [Substring] = []
        for part in path.split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        var uri = "file://"
        for byte in ("/" + parts.joined(separator: "/")).utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"), UInt8(ascii: "/"):
                uri.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                uri += "%" + (digits.count < 2 ? "0" : "") + digits
            }
        }
        return uri
    }
}
