internal import Foundation

/// What stands between documents: a line each, alone or as the elements of an array.
struct ExportFraming: Sendable {
    let isArray: Bool
    private(set) var count: Int

    /// - Parameter count: Documents that are there already.
    init(isArray: Bool, count: Int = 0) {
        self.isArray = isArray
        self.count = count
    }

    /// What goes before the next document.
    mutating func begin(_ output: inout [UInt8]) {
        if isArray { output.append(contentsOf: count == 0 ? "[\n".utf8 : ",\n".utf8) }
        count += 1
    }

    /// What goes behind it.
    func end(_ output: inout [UInt8]) {
        if !isArray { output.append(UInt8(ascii: "\n")) }
    }

    /// What goes behind the last.
    var closing: [UInt8] {
        guard isArray else { return [] }
        return Array(count == 0 ? "[\n]\n".utf8 : "\n]\n".utf8)
    }

    /// A document as it is, but for line breaks, which can only stand between its parts: they become spaces.
    static func append(_ document: ArraySlice<UInt8>, to output: inout [UInt8]) {
        let start = output.count
        output.append(contentsOf: document)
        let hasBreak = document.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return false }
            return memchr(start, 0x0A, bytes.count) != nil || memchr(start, 0x0D, bytes.count) != nil
        }
        guard hasBreak else { return }
        for index in start..<output.count where output[index] == 0x0A || output[index] == 0x0D { output[index] = 0x20 }
    }
}
