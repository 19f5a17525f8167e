/// The line endings of a file. Editors in browsers know only `\n`.
struct LineEndings {
    /// One for each line that has an ending.
    private let endings: [String]
    private let lines: [Substring.UTF8View]

    init(_ text: String) {
        var endings: [String] = []
        var lines: [Substring.UTF8View] = []
        var rest = text.utf8[...]
        while let end = rest.firstIndex(where: { $0 == 0x0A || $0 == 0x0D }) {
            lines.append(rest[..<end])
            var next = rest.index(after: end)
            let isPair = rest[end] == 0x0D && next != rest.endIndex && rest[next] == 0x0A
            if isPair { next = rest.index(after: next) }
            endings.append(isPair ? "\r\n" : rest[end] == 0x0D ? "\r" : "\n")
            rest = rest[next...]
        }
        lines.append(rest)
        self.endings = endings
        self.lines = lines
    }

    /// The text as a browser shows it.
    var plain: String { lines.map { String(Substring($0)) }.joined(separator: "\n") }

    /// An edited text with the endings of this one: lines before the first and after the last change keep theirs, others
    /// get the most frequent one.
    func restored(_ edited: String) -> String {
        guard endings.contains(where: { $0 != "\n" }) else { return edited }
        let new = edited.utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
        let start = zip(lines, new).prefix { $0.elementsEqual($1) }.count
        let rest = min(lines.count, new.count) - start
        let end = zip(lines.reversed(), new.reversed()).prefix(rest).prefix { $0.elementsEqual($1) }.count
        var text = ""
        for (index, line) in new.enumerated() {
            text += String(Substring(line))
            if index == new.count - 1 { break }
            let old = index < start ? index : index >= new.count - end ? index - new.count + lines.count : nil
            text += old.flatMap { endings.indices.contains($0) ? endings[$0] : nil } ?? mostFrequent
        }
        return text
    }

    private var mostFrequent: String {
        let counts = Dictionary(grouping: endings) { $0 }.mapValues(\.count)
        return counts.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key ?? "\n"
    }
}
