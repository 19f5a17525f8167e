internal import Encodings
internal import LosslessJSON

/// The contents of the wrappers.
extension ExtendedJSONWrapper {
    /// The content unchanged, if it is a string that passes `isValid`.
    func text(
        where isValid: ([UInt8]) -> Bool, orExpected expected: String
    ) throws(ExtendedJSONError) -> [UInt8] {
        guard let characters = content.value.utf8, isValid(characters) else { throw error(expected) }
        return Array(content.value.bytes)
    }

    static func isObjectID(_ characters: [UInt8]) -> Bool {
        characters.count == 24 && characters.allSatisfy(\.isHexDigit)
    }

    static func isUUID(_ characters: [UInt8]) -> Bool {
        guard characters.count == 36 else { return false }
        return characters.enumerated().allSatisfy { index, character in
            [8, 13, 18, 23].contains(index) ? character == UInt8(ascii: "-") : character.isHexDigit
        }
    }

    /// A number in a string, or a plain number, as version 1 wrote some.
    func number(_ expected: String, _ isInRange: (String) -> Bool) throws(ExtendedJSONError) -> [UInt8] {
        let value = content.value
        let characters = value.kind == .number ? Array(value.bytes) : value.utf8 ?? []
        if Self.isNumber(characters) {
            guard isInRange(String(decoding: characters, as: UTF8.self)) else { throw error(expected) }
            return characters
        }
        guard kind == .double || kind == .decimal, value.kind == .string, isNamedOrDecimal(characters) else {
            throw error(expected)
        }
        return Array(value.bytes)
    }

    private static func isNumber(_ characters: [UInt8]) -> Bool {
        guard let text = try? JSONText(characters) else { return false }
        return text.root.kind == .number && text.root.range == characters.indices
    }

    /// Whether MongoDB accepts this as a number although JSON can't express it.
    private func isNamedOrDecimal(_ characters: [UInt8]) -> Bool {
        if ["NaN", "Infinity", "-Infinity"].contains(where: { characters.elementsEqual($0.utf8) }) { return true }
        return kind == .decimal && characters.contains { (0x30...0x39).contains($0) }
            && characters.allSatisfy { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
    }

    func date() throws(ExtendedJSONError) -> [UInt8] {
        let value = content.value
        let date: UTCDate? =
            if let characters = value.utf8 {
                UTCDate(ecmaScript: characters)
            } else if value.kind == .object {
                ExtendedJSONWrapper(value).flatMap { $0.kind == .int64 ? $0.content.value.string : nil }
                    .flatMap { Int($0) }.flatMap { UTCDate(milliseconds: $0) }
            } else {
                value.integer.flatMap { UTCDate(milliseconds: $0) }
            }
        guard let date else { throw error("milliseconds, or an ISO 8601 date and time with a time zone") }
        return Self.literal(date.text.utf8)
    }

    func expression(
        _ pattern: JSONValue?, _ options: JSONValue?, members: Int
    ) throws(ExtendedJSONError) -> [UInt8] {
        guard members == 2, let pattern = pattern?.utf8, let options = options?.utf8 else {
            throw error("a pattern and options, both strings")
        }
        return Self.literal([UInt8(ascii: "/")] + pattern + [UInt8(ascii: "/")] + options)
    }

    func timestamp() throws(ExtendedJSONError) -> [UInt8] {
        let value = content.value
        guard value.childCount == 2, value["t"]?.integer != nil, value["i"]?.integer != nil else {
            throw error("the integers t and i")
        }
        return Array(value.bytes)
    }

    func pointer() throws(ExtendedJSONError) -> [UInt8] {
        let value = content.value
        guard value.childCount == 2, let collection = value["$ref"], collection.kind == .string, let id = value["$id"],
            let wrapper = ExtendedJSONWrapper(id), wrapper.kind == .objectID
        else { throw error("$ref, a string, and $id, an $oid") }
        let hex = try wrapper.text(where: Self.isObjectID, orExpected: "24 hexadecimal digits")
        return Array(#"{"$ref":"#.utf8) + collection.bytes + Array(#","$id":"#.utf8) + hex + [UInt8(ascii: "}")]
    }

    static func literal(_ characters: some Sequence<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendJSONString(characters)
        return bytes
    }
}

extension UInt8 {
    var isHexDigit: Bool {
        (0x30...0x39).contains(self) || (0x41...0x46).contains(self) || (0x61...0x66).contains(self)
    }
}
