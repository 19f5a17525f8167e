internal import Rules

extension EditedRuleFile {
    /// The tests of the text, in order, also if it is invalid elsewhere.
    package var tests: [RuleTestPlace] {
        outline.elements(of: "tests").compactMap { test in
            guard outline[test].content != .missing else { return nil }
            let name = outline.member("name", of: test).flatMap { outline[$0].content == .scalar ? $0 : nil }
            let start = outline[test].range.lowerBound
            return RuleTestPlace(
                name: name.map(text) ?? "", range: lines.range(name.map { outline[$0].range } ?? start..<start),
                extent: lines.range(outline[test].origin..<max(outline[test].origin, outline[test].range.upperBound)),
                files: references(in: test))
        }
    }

    /// The files that a value names.
    private func references(in node: Int) -> [RuleFileReference] {
        if let reference = reference(node) { return [reference] }
        return outline[node].children.flatMap(references)
    }

    private func reference(_ node: Int) -> RuleFileReference? {
        // Most values are not paths, so their places are not looked at.
        guard isOnDisk, outline[node].content == .scalar, let name = outline.nearestName(of: node),
            FilePlace.names.contains(name), let place = FilePlace(outline.path(to: node))
        else { return nil }
        var folder: String?
        if place.isInFolder, let parent = outline[node].parent {
            folder = outline.member("folder", of: parent).map(text)
        }
        return RuleFileReference(
            range: lines.range(outline[node].range), path: resolved(text(of: node), in: folder))
    }

    // MARK: - Definitions

    /// Where the word at a position leads.
    package enum Definition: Hashable, Sendable {
        /// A place in the same text: the name of a rule.
        case here(TextRange)
        /// A file, which may not exist.
        case file(RuleFileReference)
    }

    /// The file or the rule that the word at a position names. Nil if it names none.
    package func definition(at position: TextPosition) -> Definition? {
        let offset = lines.offset(of: position)
        guard let node = outline.node(at: offset), outline[node].content == .scalar,
            outline[node].range.lowerBound <= offset
        else { return nil }
        if outline.path(to: node).namesRule {
            let value = text(of: node)
            return ruleNames.first { $0.name == value }.map { .here(lines.range(outline[$0.node].range)) }
        }
        return reference(node).map { .file($0) }
    }

    // MARK: - Running

    /// The result of one test, for people.
    package struct TestOutcome: Hashable, Sendable {
        package let hasPassed: Bool
        /// What differs from the expectation, or why the test can't run. Several lines.
        package let text: String

        package init(hasPassed: Bool, text: String) { (self.hasPassed, self.text) = (hasPassed, text) }
    }

    /// Runs one test of the text, as `rules test` does. Blocks while jq compiles new programs.
    ///
    /// - Parameters:
    ///   - index: The index in ``tests``.
    ///   - now: `$now` if the test does not set it, in seconds since 1970.
    package func run(test index: Int, now: Int) async -> TestOutcome {
        let places = tests
        guard places.indices.contains(index) else {
            return TestOutcome(hasPassed: false, text: "there is no such test in the text any more; run another one")
        }
        let (rules, errors) = read()
        if let error = errors.first {
            let place = error.position.map { "line \($0.line): " } ?? ""
            return TestOutcome(
                hasPassed: false,
                text: "the test can't run, because the rule file is not valid: \(place)\(error.message)")
        }
        guard let result = await rules.runTest(index, now: now) else {
            return TestOutcome(hasPassed: false, text: "the test can't run: jq is not available")
        }
        let name = "'\(result.name)'"
        if result.hasPassed { return TestOutcome(hasPassed: true, text: "the test \(name) passed") }
        return TestOutcome(
            hasPassed: false,
            text: (["the test \(name) failed: \(result.reason)"] + result.differences).joined(separator: "\n"))
    }
}
