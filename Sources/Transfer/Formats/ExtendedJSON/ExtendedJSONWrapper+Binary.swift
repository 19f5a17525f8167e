internal import LosslessJSON

extension ExtendedJSONWrapper {
    /// Both forms: `{"$binary":{"base64":…,"subType":…}}` and, of version 1, `{"$binary":…,"$type":…}`.
    func binary() throws(ExtendedJSONFault) -> [UInt8] {
        let value = content.value
        let (base64, subtype) = companion.map { (value, $0.value) } ?? (value["base64"], value["subType"])
        guard companion != nil || value.childCount == 2, let base64, let characters = base64.utf8, let subtype,
            let number = Self.subtype(subtype), let bytes = Self.decoded(characters, atMost: 16)
        else { throw fault("base64 and a subtype") }
        guard number == 4, bytes.count == 16 else { return Array(base64.bytes) }
        return Self.literal(Self.uuid(bytes))
    }

    /// One or two hexadecimal digits, or a number.
    private static func subtype(_ value: JSONValue) -> UInt8? {
        if let number = value.integer { return UInt8(exactly: number) }
        guard let digits = value.string, (1...2).contains(digits.utf8.count) else { return nil }
        return UInt8(digits, radix: 16)
    }

    /// The first bytes of base64 text; nil if it is none. All of it is checked.
    private static func decoded(_ characters: [UInt8], atMost limit: Int) -> [UInt8]? {
        let padding = characters.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard characters.count % 4 == 0, padding <= 2 else { return nil }
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        for (index, character) in characters.dropLast(padding).enumerated() {
            guard let value = character.base64Value else { return nil }
            bits = bits << 6 | UInt32(value)
            // A byte is whole with every character but the first of four.
            if index % 4 > 0, bytes.count <= limit {
                bytes.append(UInt8(truncatingIfNeeded: bits >> (6 - 2 * (index % 4))))
            }
        }
        return bytes
    }

    private static func uuid(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
            text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return text
    }
}

extension UInt8 {
    fileprivate var base64Value: UInt8? {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): self - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): self - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
