extension RuleFileSet {
    /// Where a rule file that is being edited finds the files that it attaches.
    package enum AttachmentSource: Sendable {
        /// Relative to the path of the rule file.
        case disk(AttachmentMemory)
        /// The rule file has no place on disk, so they are not looked for.
        case nowhere
    }

    /// Reads one rule file from a text that may not be saved, as ``load(paths:kind:)`` reads a file. Blocks.
    ///
    /// - Returns: The set, which is incomplete if there are errors.
    package static func read(
        path: String, bytes: [UInt8], attachments: AttachmentSource
    ) -> (set: RuleFileSet, errors: [RuleFileError]) {
        let source: AttachmentFiles.Source
        switch attachments {
        case .disk(let memory): source = .memory(memory)
        case .nowhere: source = .nowhere
        }
        let shared = RuleReading.Shared(attachments: AttachmentFiles.Shared(from: source))
        let file = RuleFile(path: path, bytes: bytes, shared: shared)
        let (set, clashes) = combine([file], shared, [path])
        return (set, inOrder(file.errors + clashes, [path]))
    }

    /// Runs one test of the first file, as ``runTests(now:)`` does. Nil if there is no such test, or jq is not available.
    package func runTest(_ index: Int, now: Int) async -> RuleTestResult? {
        guard let file = files.first, file.tests.indices.contains(index) else { return nil }
        let test = file.tests[index]
        let ruleSet = ruleSet(for: file, slurps: test.slurps)
        guard let decision = await test.decision(ruleSet, now: now) else { return nil }
        return test.result(decision, ruleSet, path: file.path)
    }
}
