internal import Glibc
internal import LosslessJSON

/// Strings as Go's `encoding/json` spells them: it also escapes `<`, `>`, `&`, U+2028 and U+2029, and writes `\b` and
/// `\f`.
///
/// - Note: Source: recorded and tried, Sync Gateway 4.1.1: ids and reasons in answers, and the digests of revisions.
enum GoString {
    /// Whether JSON without optional escapes may be spelled otherwise by Go.
    static func mayDiffer(_ bytes: some Sequence<UInt8>) -> Bool {
        // The library's search is much faster, above all in a debug build.
        bytes.withContiguousStorageIfAvailable { bytes in
            guard let start = bytes.baseAddress else { return false }
            return firstBytes.contains { memchr(start, Int32($0), bytes.count) != nil }
        } ?? bytes.contains { firstBytes.contains($0) }
    }

    /// The first byte of each character that Go escapes or writes otherwise.
    private static let firstBytes: [UInt8] = [
        UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "&"), 0x08, 0x0C, 0xE2,
    ]
    fileprivate static let lineSeparators: [[UInt8]] = [[0xE2, 0x80, 0xA8], [0xE2, 0x80, 0xA9]]
}

extension [UInt8] {
    /// Appends a JSON string in Go's spelling, quotes included. A lone surrogate keeps its three bytes.
    ///
    /// - Parameter characters: As in `JSONValue.characters`.
    mutating func appendGoString(_ characters: some Collection<UInt8>) {
        guard GoString.mayDiffer(characters) else { return appendJSONString(characters) }
        append(UInt8(ascii: "\""))
        var rest = characters[...]
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: "<"): append(contentsOf: "\\u003c".utf8)
            case UInt8(ascii: ">"): append(contentsOf: "\\u003e".utf8)
            case UInt8(ascii: "&"): append(contentsOf: "\\u0026".utf8)
            case 0x08: append(contentsOf: "\\b".utf8)
            case 0x0C: append(contentsOf: "\\f".utf8)
            case 0xE2 where GoString.lineSeparators.contains { rest.starts(with: $0) }:
                append(contentsOf: rest.dropFirst(2).first == 0xA8 ? "\\u2028".utf8 : "\\u2029".utf8)
                rest = rest.dropFirst(2)
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): append(contentsOf: [UInt8(ascii: "\\"), byte])
            case 0x20...: append(byte)
            default:
                let start = count
                appendJSONString(CollectionOfOne(byte))
                removeLast()
                remove(at: start)
            }
            rest = rest.dropFirst()
        }
        append(UInt8(ascii: "\""))
    }
}

extension JSONWriter {
    /// Writes a string in Go's spelling, as Sync Gateway spells ids and reasons.
    mutating func escapedString(_ value: String) {
        guard GoString.mayDiffer(value.utf8) else { return string(value) }
        var spelled: [UInt8] = []
        spelled.appendGoString(value.utf8)
        raw(spelled)
    }

    mutating func member(_ name: String, escaped value: String) {
        self.name(name)
        escapedString(value)
    }
}
