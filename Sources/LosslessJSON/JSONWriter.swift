/// Writes compact JSON, byte by byte, in the order of the calls.
///
/// Commas are its business, correctness of the nesting is the caller's.
public struct JSONWriter: Sendable {
    public private(set) var bytes: [UInt8] = []
    private var needsComma = false

    public init(minimumCapacity: Int = 0) { bytes.reserveCapacity(minimumCapacity) }

    public mutating func object(_ members: (inout JSONWriter) throws -> Void) rethrows {
        try container(UInt8(ascii: "{"), UInt8(ascii: "}"), members)
    }

    public mutating func array(_ elements: (inout JSONWriter) throws -> Void) rethrows {
        try container(UInt8(ascii: "["), UInt8(ascii: "]"), elements)
    }

    /// A member's name. Its value is the next thing written.
    public mutating func name(_ name: some StringProtocol) {
        separate()
        bytes.appendJSONString(name.utf8)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    public mutating func string(_ value: some StringProtocol) {
        separate()
        bytes.appendJSONString(value.utf8)
    }

    public mutating func integer(_ value: some BinaryInteger) { raw(String(value).utf8) }

    public mutating func bool(_ value: Bool) { raw(value ? "true".utf8 : "false".utf8) }

    public mutating func null() { raw("null".utf8) }

    /// A value that is JSON text already.
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
    public mutating func member(_ name: String, string value: some StringProtocol) {
        self.name(name)
        string(value)
    }

    public mutating func member(_ name: String, integer value: some BinaryInteger) {
        self.name(name)
        integer(value)
    }

    public mutating func member(_ name: String, bool value: Bool) {
        self.name(name)
        bool(value)
    }

    public mutating func member(_ name: String, raw json: some Sequence<UInt8>) {
        self.name(name)
        raw(json)
    }
}

extension [UInt8] {
    /// Appends a JSON string, quotes included. `characters` is UTF-8; only what must be escaped is.
    ///
    /// Goes through contiguous memory: a sequence from another module would cost a witness call for each byte.
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
