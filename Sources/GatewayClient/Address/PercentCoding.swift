extension StringProtocol {
    /// Percent-encodes all but the unreserved characters (RFC 3986, section 2.3). The result is safe as a query value
    /// and as a path segment: a document id with slashes stays one segment.
    var percentEncoded: String {
        var result = ""
        for byte in utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                result += byte < 0x10 ? "%0" : "%"
                result += String(byte, radix: 16, uppercase: true)
            }
        }
        return result
    }

    /// Nil if a "%" is not followed by two hex digits or the result is not UTF-8.
    var percentDecoded: String? {
        var result: [UInt8] = []
        var bytes = utf8.makeIterator()
        while let byte = bytes.next() {
            guard byte == UInt8(ascii: "%") else {
                result.append(byte)
                continue
            }
            guard let high = bytes.next(), let low = bytes.next(),
                let value = UInt8(String(decoding: [high, low], as: UTF8.self), radix: 16), high != UInt8(ascii: "+")
            else { return nil }
            result.append(value)
        }
        return String(validating: result, as: UTF8.self)
    }

    /// The first occurrence of `needle`; nil if there is none.
    func range(of needle: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(needle) { return start..<index(start, offsetBy: needle.count) }
            start = index(after: start)
        }
        return nil
    }
}
