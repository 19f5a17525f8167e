/// What can be written at the end of a text.
enum OutlineCursor: Equatable {
    /// A name in this object. The range is the beginning of the name.
    case key(object: Int, Range<Int>)
    /// The value of a member, or an element after its dash. The range is the beginning of the value, without its quote.
    case value(Int, Range<Int>, isQuoted: Bool)
    /// An element of a list in brackets.
    case element(list: Int, Range<Int>, isQuoted: Bool)
    /// A line with this indentation. The range is the beginning of a word.
    case line(column: Int, Range<Int>)
    /// Nothing that is known: text, or a comment.
    case nothing

    /// The range of the word at the cursor.
    var word: Range<Int> {
        switch self {
        case .key(_, let range), .value(_, let range, _), .element(_, let range, _), .line(_, let range): range
        case .nothing: 0..<0
        }
    }
}
