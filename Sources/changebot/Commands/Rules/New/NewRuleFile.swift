internal import FoundationEssentials
internal import Rules

extension RecipeParameter {
    /// The value that is used if the user chooses none: a file of the project is written beside the rule file.
    var shownValue: String { kind == .file ? value.split(separator: "/").last.map(String.init) ?? value : value }

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

/// A rule file that is made from a recipe.
struct NewRuleFile {
    let recipe: Recipe
    /// By parameter.
    let values: [String: String]
    let path: String

    /// Writes the file, and the recipe's picture beside it if the user has not chosen another one. Then runs the tests. If
    /// one fails, removes what it has written.
    ///
    /// - Parameter now: As for ``RuleFileSet/runTests(now:)``.
    /// - Returns: The number of tests.
    /// - Throws: ``CommandError`` with 73 if the file exists or can't be created, 64 if the values make the file invalid.
    func write(now: Int) async throws(CommandError) -> Int {
        guard !FileManager.default.fileExists(atPath: path) else {
            throw CommandError(.cannotCreate, "\(path) exists and is not replaced; choose another --output")
        }
        guard path.hasSuffix(".yaml") || path.hasSuffix(".yml") else {
            throw CommandError(.usage, "--output \(path): the name of a rule file ends with .yaml")
        }
        var written: [String] = []
        do throws(CommandError) {
            try create(path, Array(recipe.text(recipe.completed(values), path: path).utf8), &written)
            for parameter in recipe.parameters where values[parameter.name] == nil {
                let file = folder + parameter.shownValue
                guard let content = parameter.content, !FileManager.default.fileExists(atPath: file) else { continue }
                try create(file, content, &written)
            }
            return try await test(now)
        } catch {
            for file in written { try? FileManager.default.removeItem(atPath: file) }
            throw error
        }
    }

    private var folder: String {
        path.contains("/")
            ? path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/") + "/" : ""
    }

    private func create(_ path: String, _ bytes: [UInt8], _ written: inout [String]) throws(CommandError) {
        try OutputFile.write(bytes, to: path)
        written.append(path)
    }

    private func test(_ now: Int) async throws(CommandError) -> Int {
        let results: [RuleTestResult]
        do throws(RuleFilesError) {
            results = try await RuleFileSet.load(paths: [path], kind: nil).runTests(now: now)
        } catch {
            throw refused("\(error)")
        }
        if let failed = results.first(where: { !$0.hasPassed }) { throw refused("the test '\(failed.name)' fails") }
        return results.count
    }

    private func refused(_ reason: String) -> CommandError {
        CommandError(
            .usage,
            "recipe '\(recipe.name)' can't be used with these values; choose others with --set. Nothing was written. "
                + reason)
    }
}
