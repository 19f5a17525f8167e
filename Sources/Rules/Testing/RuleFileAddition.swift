/// Adds rules and tests to a YAML rule file. All other lines stay as they are, and all other rules and tests stay the
/// same: the result is read again.
package struct RuleFileAddition {
    /// Why they can't be added, and what to do.
    package struct Refusal: Error, CustomStringConvertible {
        let path: String
        let position: SourcePosition
        let reason: String
        /// Whether there is nothing to add, because the file has all of it.
        package var isRepetition = false

        /// `FILE:LINE:COLUMN: what is wrong and what to do`.
        package var description: String { "\(path):\(position.line):\(position.column): \(reason)" }
    }

    private let path: String
    private let bytes: [UInt8]

    /// - Parameters:
    ///   - path: The file, for messages.
    ///   - bytes: Its content. The rules may have errors, but it must be YAML.
    package init(path: String, bytes: [UInt8]) { (self.path, self.bytes) = (path, bytes) }

    /// The content of the file with more tests at the end of `tests`. A test whose name is taken gets a number.
    ///
    /// - Parameter tests: For each test its lines, as ``RecordedTest/lines``.
    /// - Throws: ``Refusal`` if the file is JSON, or its list of tests is written in brackets.
    package func adding(tests: [[String]]) throws(Refusal) -> [UInt8] {
        let file = try yaml("tests")
        var names = TestNames(file)
        let block = tests.flatMap { test in
            zip(test.indices, names.distinct(test)).map { index, line in (index == 0 ? "- " : "  ") + line }
        }
        return try checked(try ListAddition(file: file, key: "tests").adding(block))
    }

    /// The content of the file with the rules and tests of another file at the ends of its lists. If the file is empty,
    /// or has only comments, the other file.
    ///
    /// A rule or a test whose name is taken gets a number, rules also in the new tests. Rules and tests that the file has already are not
    /// added again.
    ///
    /// - Parameter other: A file in which each rule and test begins with `- ` on a line of its own.
    /// - Throws: ``Refusal`` if the file is JSON, is not valid YAML, or its lists are written in brackets.
    package func adding(rulesOf other: [UInt8]) throws(Refusal) -> [UInt8] {
        guard !isBlank else { return other }
        var file = try yaml("rules")
        let new = try AddedRules(of: YAMLText(path: "the new rules", bytes: other), to: file)
        guard !new.rules.isEmpty else {
            throw Refusal(
                path: path, position: file.member("rules")?.position ?? .start,
                reason: "the file has these rules already; choose other values", isRepetition: true)
        }
        for (key, block) in [("rules", new.rules), ("tests", new.tests)] where !block.isEmpty {
            file = try YAMLText(path: path, bytes: try ListAddition(file: file, key: key).adding(block))
        }
        return try checked(file.bytes)
    }

    private func yaml(_ noun: String) throws(Refusal) -> YAMLText {
        guard !path.hasSuffix(".json") else {
            throw Refusal(
                path: path, position: .start,
                reason: "\(noun) can be added only to YAML files; write them yourself, or use a .yaml file")
        }
        return try YAMLText(path: path, bytes: bytes)
    }

    /// Whether the file is empty or has only comments.
    package var isBlank: Bool {
        String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).allSatisfy { line in
            let text = line.drop { $0.isWhitespace || $0 == "\u{FEFF}" }
            return text.isEmpty || text.hasPrefix("#")
        }
    }

    /// The changed file, if it has no errors that it did not have before.
    private func checked(_ changed: [UInt8]) throws(Refusal) -> [UInt8] {
        let known = Self.errors(path, bytes)
        let found = Self.errors(path, changed)
        let messages = Set(known.map(\.message))
        guard found.count > known.count, let error = found.first(where: { !messages.contains($0.message) }) else {
            return changed
        }
        throw Refusal(
            path: path, position: .start, reason: "the file would not be valid with what is added: \(error.message)")
    }

    private static func errors(_ path: String, _ bytes: [UInt8]) -> [RuleFileError] {
        RuleFileSet.read(path: path, bytes: bytes, attachments: .nowhere).errors
    }
}
