/// The rules and tests of a file as another file gets them.
struct AddedRules {
    /// The lines of the rules, with `- ` at the beginning of each first line. Comments before a rule belong to it.
    let rules: [String]
    /// The lines of the tests.
    let tests: [String]

    /// - Parameters:
    ///   - other: A file in which each rule and test begins with `- ` on a line of its own.
    ///   - file: The file that gets them. Its rules keep their names.
    init(of other: YAMLText, to file: YAMLText) {
        let known = Set(file.elements(of: "rules").map(\.json))
        let taken = Set(file.elements(of: "rules").compactMap { $0.member("name")?.text })
        let isNew = { (rule: SourceNode) in !known.contains(rule.json) }
        var renamed = RenamedRules(taken: taken)
        for rule in other.elements(of: "rules") where isNew(rule) { renamed.rename(rule) }
        let knownTests = Set(file.elements(of: "tests").map(\.json))
        var names = TestNames(file)
        for test in other.elements(of: "tests") {
            renamed.correct(test)
            if !knownTests.contains(test.json) || renamed.concerns(test) { renamed.name(test, &names) }
        }
        let lines = renamed.corrected(other.bytes)
        rules = Self.block(lines, other, "rules", where: isNew)
        tests = Self.block(lines, other, "tests") { !knownTests.contains($0.json) || renamed.concerns($0) }
    }

    private static func block(
        _ lines: [String], _ file: YAMLText, _ key: String, where isWanted: (SourceNode) -> Bool
    ) -> [String] {
        let elements = file.elements(of: key)
        guard let list = file.member(key), let first = elements.first else { return [] }
        let end = file.members.map(\.position.line).filter { $0 > list.position.line }.min() ?? lines.count + 1
        let indentation = lines[first.position.line - 1].prefix { $0 == " " }.count
        // The index of the first line of each element, and of the line after the last one.
        let starts = elements.map { start(of: $0, lines, after: first) } + [end - 1]
        var block: [String] = []
        for (element, range) in zip(elements, zip(starts, starts.dropFirst())) where isWanted(element) {
            block += lines[range.0..<range.1].map { line in
                String(line.dropFirst(min(indentation, line.prefix { $0 == " " }.count)))
            }
        }
        while block.last?.isEmpty == true { block.removeLast() }
        return Array(block.drop { $0.isEmpty })
    }

    /// The index of the line that an element begins with, or the comments before it.
    private static func start(of element: SourceNode, _ lines: [String], after first: SourceNode) -> Int {
        var line = element.position.line - 1
        let indentation = lines[line].prefix { $0 == " " }.count
        while line > first.position.line - 1 {
            let text = lines[line - 1].drop { $0 == " " }
            let isComment = text.hasPrefix("#") && lines[line - 1].count - text.count <= indentation
            guard text.isEmpty || isComment else { break }
            line -= 1
        }
        return line
    }
}

/// New names for rules whose names are taken.
private struct RenamedRules {
    private var taken: Set<String>
    private var names: [String: String] = [:]
    /// Where names are replaced, and with what.
    private var places: [SourcePosition: (name: String, new: String)] = [:]

    init(taken: Set<String>) { self.taken = taken }

    mutating func rename(_ rule: SourceNode) {
        guard let node = rule.member("name"), let name = node.text else { return }
        var new = name
        var number = 2
        while !taken.insert(new).inserted {
            new = "\(name)-\(number)"
            number += 1
        }
        if new == name { return }
        names[name] = new
        places[node.position] = (name, new)
    }

    /// Gives a test a name that no other test has.
    mutating func name(_ test: SourceNode, _ names: inout TestNames) {
        guard let node = test.member("name"), let name = node.text else { return }
        let new = names.distinct(name)
        if new != name { places[node.position] = (name, new) }
    }

    /// Corrects the names in a test.
    mutating func correct(_ test: SourceNode) {
        for node in Self.references(test) {
            if let name = node.text, let new = names[name] { places[node.position] = (name, new) }
        }
    }

    /// Whether a test names a rule that has a new name.
    func concerns(_ test: SourceNode) -> Bool {
        Self.references(test).contains { node in node.text.map { names[$0] != nil } ?? false }
    }

    private static func references(_ test: SourceNode) -> [SourceNode] {
        let expected = test.member("expect")
        let effects = elements(expected?.member("effects")).compactMap { $0.member("rule") }
        return elements(test.member("only")) + elements(expected?.member("fired")) + effects
    }

    private static func elements(_ node: SourceNode?) -> [SourceNode] {
        guard case .list(let elements)? = node?.content else { return [] }
        return elements
    }

    /// Where a name is written, with its quotes.
    private static func scalar(in line: [Unicode.Scalar], at start: Int, _ name: String) -> Range<Int> {
        let quote = line[start]
        guard quote == "\"" || quote == "'" else { return start..<min(line.count, start + name.unicodeScalars.count) }
        var end = start + 1
        while end < line.count, line[end] != quote || quote == "'" && line.dropFirst(end + 1).first == quote {
            // The next character is escaped.
            end += line[end] == "\\" && quote == "\"" || line[end] == quote ? 2 : 1
        }
        return start..<min(line.count, end + 1)
    }

    /// The lines of the file with the new names.
    func corrected(_ bytes: [UInt8]) -> [String] {
        var lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .map { Array($0.unicodeScalars) }
        // From the end of a line to its beginning, so that the other positions stay right.
        for (position, change) in places.sorted(by: { $0.key.column > $1.key.column }) {
            lines[position.line - 1].replaceSubrange(
                Self.scalar(in: lines[position.line - 1], at: position.column - 1, change.name),
                with: YAMLScalar.text(change.new).unicodeScalars)
        }
        return lines.map { line in
            var text = ""
            text.unicodeScalars.append(contentsOf: line)
            return text
        }
    }
}
