/// Writes compact JSON in the order of the calls.
///
/// It writes the commas. The caller must nest correctly and write one value after each name.
public struct JSONWriter: Sendable {
    /// The JSON written so far; complete once all containers are closed.
    public private(set) var bytes: [UInt8] = []
    private var needsComma = false

    /// - Parameter minimumCapacity: Bytes to reserve.
    public init(minimumCapacity: Int = 0) { bytes.reserveCapacity(minimumCapacity) }

    /// Writes an object; `members` writes its names and values.
    public mutating func object(_ members: (inout JSONWriter) throws -> Void) rethrows {
        try container(UInt8(ascii: "{"), UInt8(ascii: "}"), members)
    }

    /// Writes an array; `elements` writes its values.
    public mutating func array(_ elements: (inout JSONWriter) throws -> Void) rethrows {
        try container(UInt8(ascii: "["), UInt8(ascii: "]"), elements)
    }

    /// Writes a member's name. The next call must write its value.
    public mutating func name(_ name: some StringProtocol) {
        separate()
        bytes.appendJSONString(name.utf8)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a string with its quotes, with only the required escapes.
    public mutating func string(_ value: some StringProtocol) {
        separate()
        bytes.appendJSONString(value.utf8)
    }

    /// Writes all digits, even beyond 2^53.
    public mutating func integer(_ value: some BinaryInteger) { raw(String(value).utf8) }

    /// Writes `true` or `false`.
    public mutating func bool(_ value: Bool) { raw(value ? "true".utf8 : "false".utf8) }

    /// Writes `null`.
    public mutating func null() { raw("null".utf8) }

    /// Writes existing JSON, unchecked and unchanged.
    public mutating func raw(_ json: some Sequence<UInt8>) {
        separate()
        bytes.append(contentsOf: json)
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    private mutating func container(
        _ opening: UInt8, _ closing: UInt8, _ content: (inout JSONWriter) throws -> Void
    ) rethrows {
        separate()
        bytes.append(opening)
        needsComma = false
        try content(&self)
        bytes.append(closing)
        needsComma = true
    }
}

extension JSONWriter {
    /// Writes a name and its string; escapes both.
    public mutating func member(_ name: String, string value: some StringProtocol) {
        self.name(name)
        string(value)
    }

    /// Writes a name and its string, or `null` if there is no value.
    public mutating func member(_ name: String, optional value: String?) {
        self.name(name)
        if let value { string(value) } else { null() }
    }

    /// Writes a name and its integer.
    public mutating func member(_ name: String, integer value: some BinaryInteger) {
        self.name(name)
        integer(value)
    }

    /// Writes a name and `true` or `false`.
    public mutating func member(_ name: String, bool value: Bool) {
        self.name(name)
        bool(value)
    }

    /// Writes a name and existing JSON, unchecked.
    public mutating func member(_ name: String, raw json: some Sequence<UInt8>) {
        self.name(name)
        raw(json)
    }
}

extension [UInt8] {
    /// Appends a JSON string with its quotes. `characters` is UTF-8. Adds only the required escapes.
    ///
    /// Reads contiguous memory: a generic sequence from another module would cost a witness call per byte.
    public mutating func appendJSONString(_ characters: some Sequence<UInt8>) {
        append(UInt8(ascii: "\""))
        if characters.withContiguousStorageIfAvailable({ appendEscaped($0.span) }) == nil {
            appendEscaped(Array(characters).span)
        }
        append(UInt8(ascii: "\""))
    }

    private mutating func appendEscaped(_ characters: Span<UInt8>) {
        for index in characters.indices {
            let byte = characters[index]
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                append(UInt8(ascii: "\\"))
                append(byte)
            case 0x0A: append(contentsOf: "\\n".utf8)
            case 0x0D: append(contentsOf: "\\r".utf8)
            case 0x09: append(contentsOf: "\\t".utf8)
            case 0..<0x20:
                append(contentsOf: "\\u00".utf8)
                append(contentsOf: [byte >> 4, byte & 15].map { $0 < 10 ? 0x30 + $0 : 0x57 + $0 })
            default: append(byte)
            }
        }
    }
}
