/// Base64 as attachments have it: RFC 4648, section 4, padded, on one line.
enum Base64 {
    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        let alphabet = Self.alphabet
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var at = 0
        while at < bytes.count {
            let left = bytes.count - at
            let second = left > 1 ? UInt32(bytes[at + 1]) << 8 : 0
            let group = UInt32(bytes[at]) << 16 | second | (left > 2 ? UInt32(bytes[at + 2]) : 0)
            text.append(alphabet[Int(group >> 18)])
            text.append(alphabet[Int(group >> 12 & 63)])
            text.append(left > 1 ? alphabet[Int(group >> 6 & 63)] : UInt8(ascii: "="))
            text.append(left > 2 ? alphabet[Int(group & 63)] : UInt8(ascii: "="))
            at += 3
        }
        return text
    }

    static func decode(_ text: [UInt8]) -> Result<[UInt8], Base64Fault> { decode(text.span) }

    /// The bytes, or the place of the first character that can't stand where it stands.
    ///
    /// - Note: Source: Go's `encoding/base64`, `StdEncoding`: line breaks are skipped, padding is required.
    static func decode(_ text: Span<UInt8>) -> Result<[UInt8], Base64Fault> {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3)
        let values = Self.values
        var group: UInt32 = 0
        var digits = 0
        var at = 0
        while at < text.count {
            let value = values[Int(text[at])]
            if value < 64 {
                group = group << 6 | UInt32(value)
                digits += 1
                if digits == 4 {
                    bytes.append(UInt8(truncatingIfNeeded: group >> 16))
                    bytes.append(UInt8(truncatingIfNeeded: group >> 8))
                    bytes.append(UInt8(truncatingIfNeeded: group))
                    group = 0
                    digits = 0
                }
            } else if text[at] == UInt8(ascii: "=") {
                return finish(text, at, bytes, group, digits)
            } else if text[at] != 0x0A, text[at] != 0x0D {
                return .failure(Base64Fault(offset: at))
            }
            at += 1
        }
        return digits == 0 ? .success(bytes) : .failure(Base64Fault(offset: at))
    }

    private static func finish(
        _ text: Span<UInt8>, _ start: Int, _ bytes: [UInt8], _ group: UInt32, _ digits: Int
    ) -> Result<[UInt8], Base64Fault> {
        guard digits >= 2 else { return .failure(Base64Fault(offset: start)) }
        var bytes = bytes
        var due = 4 - digits
        for at in start..<text.count {
            if text[at] == 0x0A || text[at] == 0x0D { continue }
            guard text[at] == UInt8(ascii: "="), due > 0 else { return .failure(Base64Fault(offset: at)) }
            due -= 1
        }
        guard due == 0 else { return .failure(Base64Fault(offset: text.count)) }
        if digits == 3 {
            bytes.append(UInt8(truncatingIfNeeded: group >> 10))
            bytes.append(UInt8(truncatingIfNeeded: group >> 2))
        } else {
            bytes.append(UInt8(truncatingIfNeeded: group >> 4))
        }
        return .success(bytes)
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()
}

/// Where a text stops being base64.
struct Base64Fault: Error, Equatable {
    let offset: Int
}
