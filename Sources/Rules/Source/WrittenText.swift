/// Where the lines of a text of a YAML file stand in the file.
///
/// Known where the file has the text's characters as they are: in a block after `|`, or on one line.
struct WrittenText {
    private let firstLine: Int
    /// Of the text's first line.
    private let firstColumn: Int
    /// Of its other lines.
    private let column: Int

    /// Nil where the file spells the text otherwise: with escapes, or folded.
    ///
    /// - Parameters:
    ///   - start: Where the text begins in the file, its quotes or its `|` included.
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
        // A block may say that some of the spaces belong to the text: `|2`.
        let own = text.utf8.split(separator: UInt8(ascii: "\n")).lazy.compactMap { Self.indent(Array($0)[...]) }.first
        guard let spaces = block.lazy.compactMap(Self.indent).first, let own, own <= spaces else { return nil }
        let indent = spaces - own
        (firstLine, firstColumn, column) = (start.line + 1, indent + 1, indent + 1)
    }

    /// The spaces before a line; nil if there is nothing else on it.
    private static func indent(_ line: ArraySlice<UInt8>) -> Int? {
        let rest = line.drop { $0 == UInt8(ascii: " ") }
        return rest.isEmpty || rest.elementsEqual([UInt8(ascii: "\r")]) ? nil : rest.startIndex - line.startIndex
    }

    /// Where in the file a place of the text is.
    ///
    /// - Parameters:
    ///   - line: Within the text, from 1.
    ///   - offset: Characters before the place on that line.
    func position(line: Int, offset: Int) -> SourcePosition {
        SourcePosition(line: firstLine + line - 1, column: (line == 1 ? firstColumn : column) + offset)
    }
}
