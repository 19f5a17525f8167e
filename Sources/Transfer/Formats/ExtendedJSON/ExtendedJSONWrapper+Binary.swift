internal import LosslessJSON

extension ExtendedJSONWrapper {
    /// Both forms: `{"$binary":{"base64":…,"subType":…}}` and, of version 1, `{"$binary":…,"$type":…}`.
    func binary() throws(ExtendedJSONError) -> [UInt8] {
        let value = content.value
        let (base64, subtype) = companion.map { (value, $0.value) } ?? (value["base64"], value["subType"])
        guard companion != nil || value.childCount == 2, let base64, let subtype, let number = Self.subtype(subtype)
        else { throw error("base64 and a subtype") }
        let text: InlineBase64
        do throws(InlineBase64Error) { text = try InlineBase64(base64) } catch {
            throw self.error("base64 and a subtype; this is \(error)", base64)
        }
        let document = base64.text.bytes
        if number == 4, text.byteCount == 16 { return Self.literal(Self.uuid(text.bytes(in: document))) }
        let plain = text.text(in: document)
        return plain.withUnsafeBufferPointer(base64.isString) ? Array(base64.bytes) : Self.literal(plain)
    }

    /// One or two hexadecimal digits, or a number.
    private static func subtype(_ value: JSONValue) -> UInt8? {
        if let number = value.integer { return UInt8(exactly: number) }
        guard let digits = value.string, (1...2).contains(digits.utf8.count) else { return nil }
        return UInt8(digits, radix: 16)
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
