/// The header of an answer, kept unparsed; each access searches it.
///
/// Names are compared without regard to case (RFC 9110, section 5.1). Values are returned without the blanks around
/// them; invalid UTF-8 becomes U+FFFD.
package struct HTTPHeaders: Sendable {
    /// `name: value` lines, each ended by a line feed.
    private(set) var block: [UInt8]

    /// Without fields.
    package init() { block = [] }

    /// Keeps the order. Does not check names and values: a line feed in a value begins another field.
    package init(_ fields: [(name: String, value: String)]) {
        block = []
        for field in fields { block += Array("\(field.name): \(field.value)\n".utf8) }
    }

    /// The first value under `name`; nil if there is none.
    package subscript(name: String) -> String? {
        for line in lines where line.isNamed(name) { return line.value }
        return nil
    }

    /// All values under `name`, in order of arrival.
    package func values(of name: String) -> [String] {
        lines.filter { $0.isNamed(name) }.map(\.value)
    }

    /// Every field, in order of arrival.
    package var fields: [(name: String, value: String)] {
        lines.map { ($0.name, $0.value) }
    }

    /// Adds one line as libcurl delivers it. A line that begins with a blank continues the one before.
    mutating func append(line: UnsafeRawBufferPointer) {
        var line = line[...]
        while let last = line.last, last.isBlankOrLineEnd { line = line.dropLast() }
        guard let first = line.first else { return }
        if first.isBlankOrLineEnd, block.last == UInt8(ascii: "\n") {
            block.removeLast()
            block.append(UInt8(ascii: " "))
            line = line.drop(while: \.isBlankOrLineEnd)
        }
        block.append(contentsOf: line)
        block.append(UInt8(ascii: "\n"))
    }

    private var lines: [HeaderLine] {
        block.split(separator: UInt8(ascii: "\n")).compactMap(HeaderLine.init)
    }
}

/// One `name: value`.
private struct HeaderLine {
    private let bytes: ArraySlice<UInt8>
    private let colon: Int

    init?(_ bytes: ArraySlice<UInt8>) {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        self.bytes = bytes
        self.colon = colon
    }

    var name: String { String(decoding: bytes[..<colon], as: UTF8.self) }

    var value: String {
        var value = bytes[(colon + 1)...].drop(while: \.isBlankOrLineEnd)
        while let last = value.last, last.isBlankOrLineEnd { value = value.dropLast() }
        return String(decoding: value, as: UTF8.self)
    }

    func isNamed(_ name: String) -> Bool {
        bytes[..<colon].elementsEqual(name.utf8) { $0.lowercasedASCII == $1.lowercasedASCII }
    }
}

extension UInt8 {
    fileprivate var isBlankOrLineEnd: Bool { self == 0x20 || self == 0x09 || self == 0x0D || self == 0x0A }

    fileprivate var lowercasedASCII: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }
}
