import Foundation
import LosslessJSON
import Rules
import TestKit
import Testing

@testable import changebot

/// Rule files that are made from recipes.
@Suite(.limitedParallelism) struct RulesNewCommandTests {
    private static let recipes = Recipe.all.map(\.name)

    private func new(_ arguments: [String], in folder: String) async throws -> Program.Result {
        try await run(["rules", "new"] + arguments, in: folder)
    }

    private func run(_ arguments: [String], in folder: String) async throws -> Program.Result {
        try await Program.run(arguments, launcher: ["/usr/bin/env", "-C", folder])
    }

    @Test(arguments: recipes) func recipeMakesATestedFile(recipe: String) async throws {
        try await Program.withDirectory { folder in
            let result = try await new([recipe], in: folder)
            #expect(result.code == 0 && result.errors.contains("wrote \(recipe).yaml: "), "\(result.errors)")
            let check = try await run(["rules", "check", "--strict", recipe + ".yaml"], in: folder)
            #expect(check.code == 0, "\(check.errors)\(check.output)")
            let test = try await run(["rules", "test", recipe + ".yaml"], in: folder)
            #expect(test.code == 0, "\(test.output)")
            let text = try String(contentsOfFile: folder + "/\(recipe).yaml", encoding: .utf8)
            #expect(text.hasPrefix("# ") && !text.contains("# Recipe") && text.contains("rules test \(recipe).yaml"))
        }
    }

    /// Each value is replaced everywhere, also by a value that another parameter has in the recipe.
    @Test(arguments: recipes) func eachValueCanBeChosen(recipe: String) async throws {
        let recipe = try #require(Recipe.all.first { $0.name == recipe })
        #expect(!recipe.parameters.isEmpty)
        let values = recipe.parameters.enumerated().compactMap { index, parameter -> String? in
            switch parameter.kind {
            case .number: "\(parameter.name)=\(20 + index)"
            case .url: "\(parameter.name)=https://example.org/hook?a=\(index)"
            case .text, .value: "\(parameter.name)=word\(index)"
            case .member: "\(parameter.name)=member\(index)"
            case .file: parameter.content == nil ? "\(parameter.name)=file\(index).ndjson" : nil
            }
        }
        try await Program.withDirectory { folder in
            let result = try await new(
                [recipe.name, "--output", "a.yaml"] + values.flatMap { ["--set", $0] }, in: folder)
            #expect(result.code == 0, "\(result.errors)")
            let text = try String(contentsOfFile: folder + "/a.yaml", encoding: .utf8)
            for value in values.compactMap({ $0.split(separator: "=", maxSplits: 1).last }) {
                #expect(text.contains(value), "\(value)")
            }
        }
    }

    /// Regression: a value could turn the direction of the file's text.
    @Test(arguments: recipes) func invisibleCharactersAreEscaped(recipe: String) async throws {
        let recipe = try #require(Recipe.all.first { $0.name == recipe })
        let values = recipe.parameters.filter { [.text, .value].contains($0.kind) }.map { parameter in
            (parameter.name, parameter.kind == .value ? "\"a\u{202E}b\u{E0041}\"" : "a\u{202E}b\u{E0041}")
        }
        let path = "a\u{202E}\nb.yaml"
        let text = recipe.text(
            recipe.completed(Dictionary(values) { first, _ in first }), path: path)
        #expect(text.split(separator: "\n").allSatisfy { $0.unicodeScalars.allSatisfy(\.isVisible) }, "\(text)")
        await expectPassingTests(text, recipe.name)
    }

    @Test func valuesMayChangePlaces() throws {
        let recipe = try #require(Recipe.all.first { $0.name == "keep-last-version" })
        let text = recipe.text(["first": "total", "second": "customer"], path: "a.yaml")
        #expect(text.contains("remember: [total, customer]"))
    }

    /// Regression: only words of letters and digits were accepted.
    private static let odd = [
        "Bob's \"best\" apples", "Käse 50 %: #1", "7 Up", "1984", "true", "- [x], {y}", "\\(.a) \\u0041", "  spaces  ",
        "'", "🍎", "it's: \\\"; | error",
    ]

    /// Each text with every third recipe.
    @Test(arguments: odd.indices) func anyTextCanBeAValue(index: Int) async throws {
        let text = Self.odd[index]
        for (number, recipe) in Recipe.all.enumerated() where (number + index).isMultiple(of: 3) {
            let parameters = recipe.parameters.filter { [.text, .value].contains($0.kind) }
            let values = Dictionary(uniqueKeysWithValues: parameters.map { ($0.name, text) })
            #expect(parameters.allSatisfy { $0.refusal(of: text) == nil })
            let made = recipe.text(recipe.completed(values), path: "a.yaml")
            await expectPassingTests(made, "\(recipe.name): \(text)")
            guard recipe.name == "attach-picture" else { continue }
            let given = RuleFileSet.read(path: "a.yaml", bytes: Array(made.utf8), attachments: .nowhere).set
                .testedDocuments[0].given.root
            #expect(given["title"]?.string == text && given["type"]?.string == text)
        }
    }

    @Test func valueOfAConditionIsATextOrANumber() throws {
        let recipe = try #require(Recipe.all.first { $0.name == "count-elements" })
        for (value, program, document) in [
            ("12", ".done? == 12", "done: 12"), ("false", ".done? == false", "done: false"),
            ("\"12\"", ".done? == \"12\"", "done: \"12\""), ("it's", ".done? == \"it''s\"", "done: it's"),
        ] {
            let text = recipe.text(["value": value], path: "a.yaml")
            #expect(text.contains(program) && text.contains("{ \(document) }"), "\(text)")
        }
    }

    /// Regression: a path with a space or an apostrophe was refused.
    @Test func nameOfAFileIsAnyText() async throws {
        try await Program.withDirectory { folder in
            let name = "Bob's apple, 2.png"
            try Data("x".utf8).write(to: URL(fileURLWithPath: folder + "/" + name))
            let result = try await new(["attach-picture", "--set", "picture=" + name], in: folder)
            #expect(result.code == 0, "\(result.errors)")
        }
    }

    // MARK: - Adding to a file

    @Test func recipeIsAddedToAFile() async throws {
        try await Program.withDirectory { folder in
            let path = folder + "/a.yaml"
            try Data(("# mine\n" + Self.mine).utf8).write(to: URL(fileURLWithPath: path))
            let first = try await new(["attach-picture", "--append", "a.yaml"], in: folder)
            #expect(first.code == 0, "\(first.errors)")
            #expect(first.errors == "added to a.yaml: the rule 'picture-of-apple', with 4 tests\n")
            #expect(FileManager.default.fileExists(atPath: folder + "/apple.png"))
            let second = try await new(["attach-picture", "--set", "type=fruit", "--append", "a.yaml"], in: folder)
            #expect(
                second.errors.contains("the rule 'picture-of-apple-2', with 4 tests; 'picture-of-apple-2' got a number")
            )
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(text.hasPrefix("# mine\n" + Self.mine) && text.contains("name: apple gets its picture (2)\n"))
            #expect(try await run(["rules", "test", "a.yaml"], in: folder).code == 0)
            let again = try await new(["attach-picture", "--append", "a.yaml"], in: folder)
            #expect(again.code == 64 && again.errors.contains("the file has these rules already; choose other values"))
            // The rule of the file fires too, so the recipe's tests would fail without `only`; its own would not.
            let wrong = try await new(["set-default", "--set", "type=another-type", "--append", "a.yaml"], in: folder)
            #expect(
                wrong.code == 64 && wrong.errors.contains("of a.yaml fails with the added rules"), "\(wrong.errors)")
            #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
        }
    }

    @Test(arguments: [
        ("a.json", #"{"version":1,"rules":[]}"#, "can be added only to YAML files"),
        ("a.yaml", "version: 1\nrules: []\ntests: []\n", "write it without brackets"),
        ("a.yaml", "version: 1\nrules:\n  - nam: a\n", "a.yaml:3:"),
    ]) func fileThatTakesNoRulesIsNamed(name: String, text: String, part: String) async throws {
        try await Program.withDirectory { folder in
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/" + name))
            let result = try await new(["attach-picture", "--append", name], in: folder)
            #expect(result.code == 65 && result.errors.contains(part), "\(result.errors)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [name])
        }
    }

    /// Regression: they were shown with `\u000a` between them.
    @Test func severalErrorsAreShownOnOneLine() async throws {
        try await Program.withDirectory { folder in
            let result = try await new(
                ["attach-picture", "--set", "picture=none.png", "--set", "name=x"], in: folder)
            #expect(result.code == 64 && !result.errors.contains("\\u000a"), "\(result.errors)")
            #expect(result.errors.contains("'none.png' does not exist"))
        }
    }

    // MARK: - Several recipes in one file

    private static let mine = """
        version: 1
        rules:
          - name: mine
            when: { type: mine, done: { $exists: false } }
            then: [{ merge: { done: true } }]

        """

    private func added(_ recipe: Recipe, _ values: [String: String], to text: String) throws -> String {
        let other = recipe.text(recipe.completed(values), path: "a.yaml")
        let bytes = try RuleFileAddition(path: "a.yaml", bytes: Array(text.utf8)).adding(rulesOf: Array(other.utf8))
        return String(decoding: bytes, as: UTF8.self)
    }

    private func expectPassingTests(_ text: String, _ title: String) async {
        let read = RuleFileSet.read(path: "a.yaml", bytes: Array(text.utf8), attachments: .nowhere)
        #expect(read.errors == [], "\(title): \(text)")
        let results = await read.set.runTests(now: 0)
        #expect(!results.isEmpty && results.allSatisfy(\.hasPassed), "\(title): \(results.filter { !$0.hasPassed })")
    }

    /// The tests pass, also if the rules are for the same documents.
    @Test(arguments: recipes) func recipeCanBeAddedAgainWithAnotherValue(recipe: String) async throws {
        let recipe = try #require(Recipe.all.first { $0.name == recipe })
        let first = try added(recipe, [:], to: Self.mine)
        #expect(first.hasPrefix(Self.mine))
        await expectPassingTests(first, recipe.name)
        for parameter in recipe.parameters {
            let value =
                switch parameter.kind {
                case .number: "31"
                case .url: "https://example.org/other"
                case .text, .value, .member: "other"
                case .file: "other.png"
                }
            let text = try added(recipe, [parameter.name: value], to: first)
            #expect(text.hasPrefix(Self.mine) && text.contains(value))
            await expectPassingTests(text, "\(recipe.name), \(parameter.name)")
        }
        #expect(throws: RuleFileAddition.Refusal.self) { try added(recipe, [:], to: first) }
    }

    @Test func allRecipesFitIntoOneFile() async throws {
        await expectPassingTests(try Recipe.all.reduce(Self.mine) { try added($1, [:], to: $0) }, "all")
    }

    // MARK: - Refused

    @Test(
        arguments: [
            (["no-such"], 64, "there is no recipe 'no-such'; choose one of attach-picture, "),
            ([], 64, "name a recipe: changebot rules new RECIPE; changebot rules new --list"),
            (["set-default", "--set", "typ=x"], 64, "write --set type=product --set member=currency --set value=EUR"),
            (["set-default", "--set", "member=unit price"], 64, "with letters from a to z, digits and _ only"),
            (["set-default", "--set", "value="], 64, "write at least one character"),
            (["set-default", "--set", "type=a\nb"], 64, "leave out control characters and line breaks"),
            (["delete-when-old", "--set", "days=-1"], 64, "write a whole number"),
            (["notify-when-done", "--set", "url=example.org"], 64, "begins with http:// or https://"),
            // The tests of the recipe have documents of this type that the rule must ignore.
            (["set-default", "--set", "type=another-type"], 64, "Nothing was written: the test "),
            (["attach-picture", "--set", "picture=none.png"], 64, "none.png"),
            (["set-default", "--append", "none.yaml"], 66, "--append 'none.yaml' does not exist"),
            (["set-default", "--append", "a.yaml", "--output", "b.yaml"], 64, "leave one out"),
            (["set-default", "--output", "a.txt"], 64, "the name of a rule file ends with .yaml"),
        ] as [([String], Int32, String)])
    func refusedValuesWriteNothing(arguments: [String], code: Int32, part: String) async throws {
        try await Program.withDirectory { folder in
            let result = try await new(arguments, in: folder)
            #expect(result.code == code && result.errors.contains(part), "\(result.errors)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
        }
    }

    /// Regression: the error did not name the pictures that exist.
    @Test func pictureThatIsMissingNamesThoseThatExist() async throws {
        try await Program.withDirectory { folder in
            try FileManager.default.createDirectory(atPath: folder + "/art", withIntermediateDirectories: false)
            for name in ["b.png", "a.JPG", "notes.txt", ".hidden.png", "art/c.webp"] {
                try Data("x".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
            }
            let result = try await new(["attach-picture", "--set", "picture=none.png"], in: folder)
            #expect(result.code == 64)
            #expect(
                result.errors.contains(
                    "'none.png' does not exist; put the picture there, or choose one of a.JPG, b.png, art/c.webp\n"),
                "\(result.errors)")
            #expect(PictureFiles.beside(folder + "/r.yaml") == ["a.JPG", "b.png", "art/c.webp"])
            #expect(try await new(["attach-picture", "--set", "picture=art/c.webp"], in: folder).code == 0)
        }
    }

    @Test func existingFilesAreNotReplaced() async throws {
        try await Program.withDirectory { folder in
            let path = folder + "/apple.png"
            try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
            #expect(try await new(["attach-picture"], in: folder).code == 0)
            #expect(FileManager.default.contents(atPath: path) == Data("mine".utf8))
            let again = try await new(["attach-picture", "--set", "name=pear"], in: folder)
            #expect(again.code == 73 && again.errors.contains("attach-picture.yaml exists and is not replaced"))
        }
    }

    @Test func listShowsEachValue() async throws {
        let result = try await Program.run(["rules", "new", "--list"])
        #expect(result.code == 0)
        for recipe in Recipe.all {
            #expect(result.output.contains("\(recipe.name): \(recipe.title)\n"))
        }
        #expect(result.output.contains("--set currency") == false && result.output.contains("--set value=EUR"))
    }

    // MARK: - Questions

    /// A terminal that gives these answers.
    private final class Terminal {
        var answers: [String]
        var shown = ""
        init(_ answers: [String]) { self.answers = answers }

        var questions: RecipeQuestions {
            RecipeQuestions(
                read: { self.answers.isEmpty ? nil : self.answers.removeFirst() }, show: { self.shown += $0 })
        }
    }

    @Test func questionsAreRepeatedUntilAnAnswerIsPossible() throws {
        let terminal = Terminal(["99", "none", "set-default", "", "unit price", "price", "low"])
        let recipe = try terminal.questions.recipe(among: Recipe.all)
        let values = try terminal.questions.values(of: recipe)
        #expect(recipe.name == "set-default" && values == ["member": "price", "value": "low"])
        #expect(
            terminal.shown.contains("There is no recipe '99'.")
                && terminal.shown.contains("type of the documents [product]: "))
        #expect(terminal.shown.contains("'unit price' can't be used: "))
    }

    @Test func numberChoosesARecipe() throws {
        let terminal = Terminal(["1"])
        #expect(try terminal.questions.recipe(among: Recipe.all).name == Recipe.all.first?.name)
        #expect(throws: CommandError.self) { try terminal.questions.path(instead: "a.yaml") }
    }

    /// Regression: the command ended, and all answers had to be given again.
    @Test func questionsAreRepeatedAfterAMistake() async throws {
        try await Program.withDirectory { folder in
            let (existing, path) = (folder + "/old.yaml", folder + "/new.yaml")
            try Data("mine".utf8).write(to: URL(fileURLWithPath: existing))
            let terminal = Terminal([
                "set-default", "another-type", "", "", "a.txt", existing, path, "task", " Bob's  member ", "m", "",
            ])
            let told = try await terminal.questions.file(nil) { recipe, values, path throws(CommandError) in
                try await NewRuleFile(recipe: recipe, values: values, path: path).write(now: 0)
            }
            #expect(told.hasPrefix("wrote \(path): ") && terminal.answers == [])
            #expect(terminal.shown.contains("the name of a rule file ends with .yaml"))
            #expect(terminal.shown.contains("old.yaml exists and is not replaced"))
            #expect(terminal.shown.contains("can't be used with these values"))
            #expect(terminal.shown.contains("'Bob's  member' can't be used"))
            #expect(FileManager.default.contents(atPath: existing) == Data("mine".utf8))
        }
    }
}
