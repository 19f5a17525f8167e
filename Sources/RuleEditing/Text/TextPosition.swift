/// A position in a text, as editors count: both numbers from 0, columns in the units of the editor.
package struct TextPosition: Hashable, Comparable, Sendable {
    /// From 0.
    package var line: Int
    /// From 0, in the ``ColumnUnit`` of the text.
    package var column: Int

    package init(line: Int, column: Int) { (self.line, self.column) = (line, column) }

    package static func < (left: TextPosition, right: TextPosition) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// A part of a text.
package struct TextRange: Hashable, Sendable {
    package let start: TextPosition
    /// After the last character.
    package let end: TextPosition

    package init(start: TextPosition, end: TextPosition) { (self.start, self.end) = (start, end) }
}

/// What an editor counts as one column.
package enum ColumnUnit: Sendable {
    /// Bytes of UTF-8.
    case utf8
    /// Units of UTF-16: JavaScript, and most editors.
    case utf16
}

/// A part of a text, and what replaces it.
package struct TextEdit: Hashable, Sendable {
    package let range: TextRange
    package let newText: String

    package init(range: TextRange, newText: String) { (self.range, self.newText) = (range, newText) }
}
