/// The positions of a string's lines in a YAML file.
///
/// Known if the file contains the string's characters unchanged: in a block after `|`, or on one line.
struct YAMLTextPositions {
    private let firstLine: Int
    /// The column of its first line.
    private let firstColumn: Int
    /// The column of its other lines.
    private let column: Int

    /// Nil if the file spells the string differently: with escapes, or folded.
    ///
    /// - Parameters:
    ///   - start: Where the string begins in the file, with its quotes or its `|`.
    ///   - file: The file's bytes.
    init?(_ text: String, at start: SourcePosition, in file: [UInt8]) {
        let lines = file.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.indices.contains(start.line - 1) else { return nil }
        let line = Array(
            String(decoding: lines[start.line - 1], as: UTF8.self).unicodeScalars.dropFirst(start.column - 1))
        guard let first = line.first else { return nil }
        guard first == "|" else {
            let quote = first == "'" || first == "\"" ? 1 : 0
            guard line.dropFirst(quote).starts(with: text.unicodeScalars) else { return nil }
            (firstLine, firstColumn, column) = (start.line, start.column + quote, 1)
            return
        }
        let block = lines.dropFirst(start.line)
        // A block may keep some of the spaces as part of the string: `|2`.
        let own = text.utf8.split(separator: UInt8(ascii: "\n")).lazy.compactMap { Self.indent(Array($0)[...]) }.first
        guard let spaces = block.lazy.compactMap(Self.indent).first, let own, own <= spaces else { return nil }
        let indent = spaces - own
        (firstLine, firstColumn, column) = (start.line + 1, indent + 1, indent + 1)
    }

    /// The number of spaces before a line's content. Nil for a blank line.
    private static func indent(_ line: ArraySlice<UInt8>) -> Int? {
        let rest = line.drop { $0 == UInt8(ascii: " ") }
        return rest.isEmpty || rest.elementsEqual([UInt8(ascii: "\r")]) ? nil : rest.startIndex - line.startIndex
    }

    /// The position in the file for a position in the string.
    ///
    /// - Parameters:
    ///   - line: In the string, from 1.
    ///   - offset: The characters before the position on that line.
    func position(line: Int, offset: Int) -> SourcePosition {
        SourcePosition(line: firstLine + line - 1, column: (line == 1 ? firstColumn : column) + offset)
    }
}
