internal import FoundationEssentials
internal import Glibc

/// Separators between documents: one per line, alone or as the elements of an array.
///
/// An array is valid JSON only after ``closing`` is written.
package struct DocumentFraming: Sendable {
    let isArray: Bool
    private(set) var count: Int

    /// - Parameter count: How many documents were written before.
    package init(isArray: Bool, count: Int = 0) {
        self.isArray = isArray
        self.count = count
    }

    /// Appends a whole document with its bytes, on one line.
    package mutating func write(_ document: ArraySlice<UInt8>, to output: inout [UInt8]) {
        begin(&output)
        output.appendOnOneLine(document)
        end(&output)
    }

    /// Appends the separator before the next document.
    mutating func begin(_ output: inout [UInt8]) {
        if isArray { output.append(contentsOf: count == 0 ? "[\n".utf8 : ",\n".utf8) }
        count += 1
    }

    /// Appends the end of a document.
    func end(_ output: inout [UInt8]) {
        if !isArray { output.append(UInt8(ascii: "\n")) }
    }

    /// What follows the last document; empty unless it is an array.
    package var closing: [UInt8] {
        guard isArray else { return [] }
        return Array(count == 0 ? "[\n]\n".utf8 : "\n]\n".utf8)
    }
}

extension [UInt8] {
    /// Appends a document or a part of it, with line breaks replaced by spaces. In JSON they can only be between
    /// tokens.
    mutating func appendOnOneLine(_ document: ArraySlice<UInt8>) {
        let start = count
        append(contentsOf: document)
        let hasBreak = document.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return false }
            return memchr(start, 0x0A, bytes.count) != nil || memchr(start, 0x0D, bytes.count) != nil
        }
        guard hasBreak else { return }
        for index in start..<count where self[index] == 0x0A || self[index] == 0x0D { self[index] = 0x20 }
    }
}
