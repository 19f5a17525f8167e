/// Adds tests to a YAML rule file. All other lines stay as they are.
package struct TestAddition {
    /// Why tests can't be added to a file.
    package struct Refusal: Error, CustomStringConvertible {
        /// `FILE:LINE:COLUMN: what is wrong and what to do`.
        package let description: String
    }

    private let path: String
    private let bytes: [UInt8]

    /// - Parameters:
    ///   - path: The file, for messages.
    ///   - bytes: Its content, without errors.
    package init(path: String, bytes: [UInt8]) { (self.path, self.bytes) = (path, bytes) }

    /// The content of the file with more tests at the end of `tests`.
    ///
    /// - Parameter tests: For each test its lines, as ``Mutant/Difference/test``.
    /// - Throws: ``Refusal`` if the file is JSON, or its list of tests is written in brackets.
    package func adding(_ tests: [[String]]) throws(Refusal) -> [UInt8] {
        let text = String(decoding: bytes, as: UTF8.self)
        let ending = text.contains("\r\n") ? "\r\n" : "\n"
        var lines = text.split(separator: ending[...], omittingEmptySubsequences: false).map(String.init)
        if lines.last == "" { lines.removeLast() }
        let (line, indentation) = try place(lines)
        let added = tests.flatMap { test in
            zip(test.indices, test).map { index, line in indentation + (index == 0 ? "- " : "  ") + line }
        }
        lines.insert(contentsOf: (line == nil ? ["", "tests:"] : []) + added, at: line ?? lines.count)
        let changed = Array((lines.joined(separator: ending) + ending).utf8)
        let errors = RuleFile(path: path, bytes: changed).errors
        guard errors.isEmpty else { throw refusal(.start, "the new tests do not fit into this file") }
        return changed
    }

    /// Where new tests belong, and their indentation. No index: the file has no tests.
    private func place(_ lines: [String]) throws(Refusal) -> (line: Int?, indentation: String) {
        guard !path.hasSuffix(".json") else { throw refusal(.start, "tests can be added only to YAML files") }
        let root = YAMLSource.read(String(decoding: bytes, as: UTF8.self), errors: SourceErrors(path: path))
        guard case .object(let members)? = root?.content else {
            throw refusal(.start, "tests can be added only to a YAML object")
        }
        guard let tests = members.first(where: { $0.name == "tests" }) else { return (nil, "  ") }
        guard case .list(let elements) = tests.value.content, let first = elements.first,
            lines.indices.contains(first.position.line - 1),
            let dash = lines[first.position.line - 1].prefixMatch(of: /( *)-\s/)
        else {
            throw refusal(tests.value.position, "'tests' must be a list with one '- ' for each test")
        }
        let next = members.map(\.position.line).filter { $0 > tests.position.line }.min()
        var line = next.map { $0 - 1 } ?? lines.count
        while line > first.position.line, Self.isComment(lines[line - 1]) { line -= 1 }
        return (line, String(dash.1))
    }

    /// Whether the line is empty or a comment.
    private static func isComment(_ line: String) -> Bool {
        let text = line.drop { $0 == " " }
        return text.isEmpty || text.hasPrefix("#")
    }

    private func refusal(_ position: SourcePosition, _ reason: String) -> Refusal {
        Refusal(
            description:
                "\(path):\(position.line):\(position.column): \(reason); add the tests above to the file yourself, or "
                + "change it and run the command again")
    }
}
