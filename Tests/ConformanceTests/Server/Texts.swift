import LosslessJSON

extension String {
    /// As a path segment or a query value: everything is encoded except the unreserved characters of RFC 3986, section
    /// 2.3.
    var percentEncoded: String {
        utf8.reduce(into: "") { result, byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default: result += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
    }

    /// As a JSON string.
    var json: String {
        var bytes: [UInt8] = []
        bytes.appendJSONString(utf8)
        return String(decoding: bytes, as: UTF8.self)
    }

    var bytes: [UInt8] { Array(utf8) }
}

extension JSONValue {
    /// The value as written.
    var spelling: String { String(decoding: bytes, as: UTF8.self) }
}
