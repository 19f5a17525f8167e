internal import LosslessJSON

extension JSONWriter {
    /// Writes a string as Sync Gateway spells ids and reasons: also escapes `<`, `>` and `&`.
    ///
    /// - Note: Source: Go's `encoding/json`; a recorded answer for the document `a/b c:é+&` has `é+\u0026`.
    mutating func escapedString(_ value: String) {
        let special = value.utf8.contains {
            $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "&")
        }
        guard special else { return string(value) }
        var quoted: [UInt8] = []
        quoted.appendJSONString(value.utf8)
        var escaped: [UInt8] = []
        for byte in quoted {
            switch byte {
            case UInt8(ascii: "<"): escaped += "\\u003c".utf8
            case UInt8(ascii: ">"): escaped += "\\u003e".utf8
            case UInt8(ascii: "&"): escaped += "\\u0026".utf8
            default: escaped.append(byte)
            }
        }
        raw(escaped)
    }

    mutating func member(_ name: String, escaped value: String) {
        self.name(name)
        escapedString(value)
    }
}
