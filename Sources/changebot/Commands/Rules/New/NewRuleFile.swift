internal import FoundationEssentials
internal import Rules

extension RecipeParameter {
    /// The value that is used if the user chooses none: a file of the project is written beside the rule file.
    var shownValue: String { kind == .file ? value.split(separator: "/").last.map(String.init) ?? value : value }

    /// Whether it is a picture, which must exist.
    var isPicture: Bool { kind == .file && PictureFiles.isPicture(value) }

    /// The content of the recipe's file, if it comes with the program.
    var content: [UInt8]? {
        guard kind == .file, value != shownValue else { return nil }
        return DemoFiles.asset(shownValue)
    }
}

extension Recipe {
    /// The chosen values, and those of the recipe's own files.
    func completed(_ chosen: [String: String]) -> [String: String] {
        let files = parameters.filter { $0.kind == .file }.map { ($0.name, $0.shownValue) }
        return Dictionary(files) { first, _ in first }.merging(chosen) { $1 }
    }
}

/// A rule file that is made from a recipe, or that gets the rules of one.
struct NewRuleFile {
    let recipe: Recipe
    /// By parameter.
    let values: [String: String]
    let path: String
    /// Whether the rules are added to the file, which must exist.
    var isAddition = false

    /// Why a new file can't have this path. Nil: it can.
    static func refusal(ofNew path: String, option: String = "--output ") -> CommandError? {
        if FileManager.default.fileExists(atPath: path) {
            return CommandError(
                .cannotCreate,
                "\(path) exists and is not replaced; choose another --output, or add to it with --append")
        }
        guard path.hasSuffix(".yaml") || path.hasSuffix(".yml") else {
            return CommandError(.usage, "\(option)\(path): the name of a rule file ends with .yaml")
        }
        return nil
    }

    /// Writes the file, and the recipe's picture beside it if the user has not chosen another one. Then runs the tests. If
    /// one fails, everything is as it was.
    ///
    /// - Parameter now: As for ``RuleFileSet/runTests(now:)``.
    /// - Returns: What was written, for people.
    /// - Throws: ``CommandError``: 64 if the values make the file invalid, 73 if a new file exists or can't be created. For
    ///   an addition, 65 if nothing can be added to the file, 66 if it can't be read.
    func write(now: Int) async throws(CommandError) -> String {
        var written: [String] = []
        do throws(CommandError) {
            try checkPictures()
            return isAddition ? try await add(now, &written) : try await create(now, &written)
        } catch {
            for file in written { try? FileManager.default.removeItem(atPath: file) }
            throw error
        }
    }

    private func checkPictures() throws(CommandError) {
        for parameter in recipe.parameters where parameter.isPicture {
            guard let name = values[parameter.name], let refusal = PictureFiles.refusal(of: name, in: path) else {
                continue
            }
            throw refused(refusal)
        }
    }

    private var text: [UInt8] { Array(recipe.text(recipe.completed(values), path: path).utf8) }

    private func create(_ now: Int, _ written: inout [String]) async throws(CommandError) -> String {
        if let refusal = Self.refusal(ofNew: path) { throw refusal }
        try create(path, text, &written)
        try createFiles(&written)
        let results = try await results(text, now)
        if let failed = results.first(where: { !$0.hasPassed }) { throw refused("the test '\(failed.name)' fails") }
        return "wrote \(path): \(Counted(results.count, "test")), all passed"
    }

    /// Creates those of the recipe's files that come with the program and do not exist.
    private func createFiles(_ written: inout [String]) throws(CommandError) {
        for parameter in recipe.parameters where values[parameter.name] == nil {
            let file = RulePath.join(RulePath.folder(of: path), parameter.shownValue)
            guard let content = parameter.content, !FileManager.default.fileExists(atPath: file) else { continue }
            try create(file, content, &written)
        }
    }

    private func create(_ path: String, _ bytes: [UInt8], _ written: inout [String]) throws(CommandError) {
        try OutputFile.write(bytes, to: path)
        written.append(path)
    }

    /// - Throws: ``CommandError`` with 64 if the file is not valid.
    private func results(_ bytes: [UInt8], _ now: Int) async throws(CommandError) -> [RuleTestResult] {
        let (rules, errors) = read(bytes)
        // The position is one of a file that is not there.
        guard errors.isEmpty else { throw refused(errors.map(\.message).joined(separator: "; ")) }
        return await rules.runTests(now: now)
    }

    private func read(_ bytes: [UInt8]) -> (set: RuleFileSet, errors: [RuleFileError]) {
        RuleFileSet.read(path: path, bytes: bytes, attachments: .disk(AttachmentMemory()))
    }

    private func refused(_ reason: String) -> CommandError {
        CommandError(
            .usage,
            "recipe '\(recipe.name)' can't be used with these values; choose others with --set. Nothing was written: "
                + reason)
    }
}

// MARK: - Adding to a file

extension NewRuleFile {
    private static let lengthLimit = 8 << 20

    private func add(_ now: Int, _ written: inout [String]) async throws(CommandError) -> String {
        let old = try content()
        let addition = RuleFileAddition(path: path, bytes: old)
        let before = read(old)
        guard addition.isBlank || before.errors.isEmpty else {
            throw CommandError(.invalidData, listing: before.errors.map(\.description))
        }
        let changed: [UInt8]
        do throws(RuleFileAddition.Refusal) { changed = try addition.adding(rulesOf: text) } catch {
            throw CommandError(
                error.isRepetition ? .usage : .invalidData, error.description, isListing: !error.isRepetition)
        }
        try createFiles(&written)
        try await check(try await results(changed, now), before.set, now)
        guard try content() == old else {
            throw CommandError(
                .temporaryFailure, "\(path) was changed by another program meanwhile, so nothing was written; try again"
            )
        }
        try OutputFile.write(changed, to: path)
        return report(read(changed).set, before.set)
    }

    private func content() throws(CommandError) -> [UInt8] {
        do throws(FileError) { return try FileBytes.read(path, limit: Self.lengthLimit) } catch {
            throw CommandError(.missingInput, "--append \(error.description)")
        }
    }

    /// Tests that failed before may fail.
    private func check(
        _ results: [RuleTestResult], _ before: RuleFileSet, _ now: Int
    ) async throws(CommandError) {
        let failed = results.filter { !$0.hasPassed }
        if failed.isEmpty { return }
        let known = Set(await before.runTests(now: now).filter { !$0.hasPassed }.map(\.name))
        guard let new = failed.first(where: { !known.contains($0.name) }) else { return }
        throw refused("the test '\(new.name)' of \(path) fails with the added rules")
    }

    /// Such as `added to r.yaml: the rule 'b', with 4 tests`.
    private func report(_ after: RuleFileSet, _ before: RuleFileSet) -> String {
        let rules = Array(after.ruleNames.dropFirst(before.ruleCount))
        let tests = after.testCount - before.testCount
        let wanted = Set(read(text).set.ruleNames)
        let renamed = rules.filter { !wanted.contains($0) }.map { "'\($0)'" }
        let advice =
            renamed.isEmpty ? "" : "; \(renamed.joined(separator: ", ")) got a number, because the name was taken"
        let names = rules.map { "'\($0)'" }.joined(separator: ", ")
        return "added to \(path): \(rules.count == 1 ? "the rule" : "the rules") \(names), with "
            + "\(Counted(tests, "test"))\(advice)"
    }
}
