internal import ArgumentParser
internal import Encodings
internal import Glibc
internal import Rules

struct RulesNewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new",
        abstract: "Write a rule file with tests, from a recipe.",
        discussion: """
            Example: changebot rules new set-default --set type=task --set member=priority --set value=low

            Without the name of a recipe, it asks on the terminal. The tests of the new file are run before the command \
            ends. An existing file is never replaced. With --append, the rules and tests are added at its end instead.
            """)

    @Argument(
        help: ArgumentHelp("The name of the recipe; --list shows all. Default: ask.", valueName: "recipe"),
        completion: .list(Recipe.all.map(\.name)))
    var recipe: String?

    @Option(
        help: ArgumentHelp(
            "A value of the recipe, such as type=task. Repeatable. Default: the value in the recipe.",
            valueName: "name=value"))
    var set: [String] = []

    @Option(
        name: .shortAndLong, help: ArgumentHelp("The new file. Default: RECIPE.yaml.", valueName: "file"),
        completion: .file())
    var output: String?

    @Option(
        help: ArgumentHelp(
            "Add the rules and tests to this rule file instead of writing a new one.", valueName: "file"),
        completion: .yamlFile)
    var append: String?

    @Flag(help: "List the recipes and their values.")
    var list = false

    @OptionGroup var notes: NoteOptions

    func run() async throws {
        let environment = Environment()
        if try environment.isOn(list, "list") { return try Console.write(Self.listing) }
        guard append == nil || output == nil else {
            throw CommandError(.usage, "--append and --output name two files; leave one out")
        }
        let written: String
        if let recipe {
            let found = try Self.find(recipe)
            let path = append ?? output ?? found.name + ".yaml"
            written = try await file(found, try Self.values(set, of: found), path).write(now: Timestamp.secondsNow)
        } else {
            written = try await ask()
        }
        try notes.note(written, environment)
    }

    private func file(_ recipe: Recipe, _ values: [String: String], _ path: String) -> NewRuleFile {
        NewRuleFile(recipe: recipe, values: values, path: path, isAddition: append != nil)
    }

    /// Asks until a file is written.
    private func ask() async throws(CommandError) -> String {
        guard set.isEmpty, isatty(STDIN_FILENO) == 1 else {
            throw CommandError(
                .usage,
                "name a recipe: changebot rules new RECIPE; changebot rules new --list shows all of them")
        }
        let questions = RecipeQuestions(show: { _ = FileDescriptor.standardError.write(Array($0.utf8)) })
        return try await questions.file(append ?? output) { recipe, values, path throws(CommandError) in
            try await file(recipe, values, path).write(now: Timestamp.secondsNow)
        }
    }

    private static func find(_ name: String) throws(CommandError) -> Recipe {
        guard let recipe = Recipe.all.first(where: { $0.name == name }) else {
            let names = Recipe.all.map(\.name).joined(separator: ", ")
            throw CommandError(.usage, "there is no recipe '\(name)'; choose one of \(names)")
        }
        return recipe
    }

    private static func values(_ set: [String], of recipe: Recipe) throws(CommandError) -> [String: String] {
        var values: [String: String] = [:]
        for text in set {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, let parameter = recipe.parameters.first(where: { $0.name == parts[0] }) else {
                let names = recipe.parameters.map { "\($0.name)=\($0.shownValue)" }.joined(separator: " --set ")
                throw CommandError(
                    .usage, "--set '\(text)': recipe '\(recipe.name)' has other values; write --set \(names)")
            }
            if let refusal = parameter.refusal(of: parts[1]) {
                throw CommandError(.usage, "--set '\(text)': this value can't be used; \(refusal)")
            }
            values[parts[0]] = parts[1]
        }
        return values
    }

    private static var listing: [String] {
        Recipe.all.flatMap { recipe in
            let width = recipe.parameters.map { $0.name.count + $0.shownValue.count + 1 }.max() ?? 0
            return ["\(recipe.name): \(recipe.title)"]
                + recipe.parameters.map {
                    "  --set \("\($0.name)=\($0.shownValue)".padded(to: width))  \($0.explanation)"
                }
        }
    }
}
