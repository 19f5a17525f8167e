internal import LosslessJSON

/// What can be inserted at one offset of a text.
///
/// Reads the text only up to the cursor, so that brackets and quotes after it do not matter. The outline of the whole
/// text tells which names are already there.
struct CompletionRequest {
    let file: EditedRuleFile
    let offset: Int
    /// The text up to the cursor.
    let before: OutlineReader
    let schema: SchemaView

    init(_ file: EditedRuleFile, at offset: Int) {
        self.file = file
        self.offset = offset
        before = OutlineReader(file.lines.bytes, end: offset, isJSON: file.isJSON)
        schema = file.schema
    }

    private var outline: Outline { before.outline }

    var completions: [RuleCompletion] {
        switch before.cursor {
        case .key(let object, let word): names(in: object, word, form: .flow)
        case .value(let node, let word, let isQuoted): values(of: node, word, isQuoted: isQuoted)
        case .element(let list, let word, let isQuoted):
            elements(of: list, word, isQuoted: isQuoted)
        case .line(let column, let word): line(column, word)
        case .nothing: []
        }
    }

    /// How names and values are written.
    enum Form: Equatable {
        /// On one line, in brackets.
        case flow
        /// On lines with this indentation.
        case block(column: Int)
    }

    func view(of node: Int) -> SchemaView { schema.at(outline.path(to: node)) }

    // MARK: - Lines

    /// A line that has only its indentation, or the beginning of a word.
    private func line(_ column: Int, _ word: Range<Int>) -> [RuleCompletion] {
        var open = before.open
        while let last = open.last, outline[last].indentation > column { open.removeLast() }
        guard let top = open.last else {
            return outline[0].content == .missing || outline[0].wordColumn == column
                ? contents(of: 0, word, column: column) : []
        }
        let isAtTop = outline[top].indentation == column
        if isAtTop, outline[top].content == .list {
            // A list may begin at the column of the names around it.
            let owner = open.dropLast().last { outline[$0].content == .object && outline[$0].indentation == column }
            return newElements(of: top, word, column: column)
                + (owner.map { names(in: $0, word, form: .block(column: column)) } ?? [])
        }
        let slot = outline[top].children.last { !isWord($0, word) }
        let isFree = slot.map { outline[$0].content == .missing && outline[$0].hasColon } ?? false
        if isAtTop {
            let isList = slot.map { isFree && !view(of: $0).at(.element(0)).schemas.isEmpty } ?? false
            return names(in: top, word, form: .block(column: column))
                + (isList ? newElements(of: slot ?? 0, word, column: column) : [])
        }
        guard let slot, isFree || outline[slot].wordColumn == column else { return [] }
        return contents(of: slot, word, column: column)
    }

    /// Whether a node is only the word at the cursor.
    private func isWord(_ node: Int, _ word: Range<Int>) -> Bool {
        !outline[node].hasColon && outline[node].key?.lowerBound == word.lowerBound
    }

    /// The beginning of a value on lines of its own.
    private func contents(of node: Int, _ word: Range<Int>, column: Int) -> [RuleCompletion] {
        let view = view(of: node)
        if !view.at(.element(0)).schemas.isEmpty, !view.allows("object") {
            return newElements(of: node, word, column: column)
        }
        return names(in: node, word, form: .block(column: column))
            + snippets(view, word, column: column, prefix: "")
    }

    /// Whole elements, each with its dash.
    private func newElements(of list: Int, _ word: Range<Int>, column: Int) -> [RuleCompletion] {
        let view = view(of: list).at(.element(outline[list].children.count))
        let whole = snippets(view, word, column: column + 2, prefix: "- ")
        guard whole.isEmpty else { return whole }
        let first = self.names(of: view, besides: []).map { name in
            item(name, of: view, word, form: .block(column: column + 2), prefix: "- ")
        }
        return first + scalars(view, outline.path(to: list) + [.element(0)], word, isQuoted: false, prefix: "- ")
    }

    // MARK: - Values

    private func values(of node: Int, _ word: Range<Int>, isQuoted: Bool) -> [RuleCompletion] {
        let view = view(of: node)
        let path = outline.path(to: node)
        let found = scalars(view, path, word, isQuoted: isQuoted)
        guard !isQuoted else { return found }
        if outline[node].key == nil, node > 0 {
            // After a dash.
            let column = file.lines.bytes.count == 0 ? 0 : word.lowerBound - before.lineStart
            return names(in: node, word, form: .block(column: column))
                + snippets(view, word, column: column, prefix: "") + found
        }
        let element = view.at(.element(0))
        guard !element.schemas.isEmpty, word.isEmpty else { return found }
        return found
            + scalars(element, path + [.element(0)], word, isQuoted: false).map { $0.surrounded(by: "[", "]") }
    }

    private func elements(of list: Int, _ word: Range<Int>, isQuoted: Bool) -> [RuleCompletion] {
        let view = view(of: list).at(.element(outline[list].children.count))
        let path = outline.path(to: list) + [.element(0)]
        let present = Set(outline[list].children.map { before.text(outline[$0].range) })
        let found = scalars(view, path, word, isQuoted: isQuoted).filter {
            !present.contains($0.label) || $0.label == before.text(word)
        }
        guard !isQuoted, !file.isJSON else { return found }
        // `[delete: {}]` needs no braces.
        return found
            + names(of: view, besides: []).map { item($0, of: view, word, form: .flow, prefix: "") }
    }

    /// The range that a completion replaces: the word to both sides of the cursor.
    func replaced(_ word: Range<Int>) -> Range<Int> {
        let bytes = file.lines.bytes
        var end = word.upperBound
        while end < bytes.count, Self.isWordByte(bytes[end]) { end += 1 }
        return word.lowerBound..<end
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "$"),
            UInt8(ascii: "."), 0x80...:
            true
        default: false
        }
    }
}

extension RuleCompletion {
    /// The same text in brackets.
    fileprivate func surrounded(by open: String, _ close: String) -> RuleCompletion {
        RuleCompletion(
            label: open + label + close, kind: kind, documentation: documentation, text: open + text + close,
            range: range)
    }
}
