/// Asks on the terminal for a recipe and its values.
struct RecipeQuestions {
    /// Reads one line of the answer, without its line feed. Nil at the end of the input.
    var read: () -> String? = { readLine() }
    /// Shows a line, or a question without a line feed.
    var show: (String) -> Void

    /// Asks for everything, and again for what was wrong.
    ///
    /// - Parameters:
    ///   - path: The rule file. Nil: ask.
    ///   - write: Writes the file, and returns what is told at the end.
    /// - Throws: ``CommandError`` with 64 at the end of the input, or what `write` throws if other answers can't help.
    func file(
        _ path: String?,
        write: (_ recipe: Recipe, _ values: [String: String], _ path: String) async throws(CommandError) -> String
    ) async throws(CommandError) -> String {
        let recipe = try recipe(among: Recipe.all)
        var values = try values(of: recipe)
        let chosen: String
        if let path { chosen = path } else { chosen = try self.path(instead: recipe.name + ".yaml") }
        while true {
            do throws(CommandError) { return try await write(recipe, values, chosen) } catch {
                guard error.code == .usage else { throw error }
                for message in error.messages { show(message.visible + "\n") }
            }
            values = try self.values(of: recipe)
        }
    }

    /// - Throws: ``CommandError`` with 64 at the end of the input.
    func recipe(among recipes: [Recipe]) throws(CommandError) -> Recipe {
        for line in Self.list(recipes) { show(line + "\n") }
        while true {
            let answer = try ask("Which recipe (number or name)? ")
            let number = Int(answer).flatMap { recipes.indices.contains($0 - 1) ? recipes[$0 - 1] : nil }
            if let recipe = number ?? recipes.first(where: { $0.name == answer }) { return recipe }
            show("There is no recipe '\(answer.visible)'.\n")
        }
    }

    /// - Throws: ``CommandError`` with 64 at the end of the input.
    func values(of recipe: Recipe) throws(CommandError) -> [String: String] {
        var values: [String: String] = [:]
        show("An empty answer means the value in brackets.\n")
        for parameter in recipe.parameters {
            while true {
                let answer = try ask("\(parameter.name): \(parameter.explanation) [\(parameter.shownValue)]: ")
                if answer.isEmpty { break }
                guard let refusal = parameter.refusal(of: answer) else {
                    values[parameter.name] = answer
                    break
                }
                show("'\(answer.visible)' can't be used: \(refusal).\n")
            }
        }
        return values
    }

    /// - Throws: ``CommandError`` with 64 at the end of the input.
    func path(instead path: String) throws(CommandError) -> String {
        while true {
            let answer = try ask("The rule file [\(path)]: ")
            let chosen = answer.isEmpty ? path : answer
            guard let refusal = NewRuleFile.refusal(ofNew: chosen, option: "") else { return chosen }
            for message in refusal.messages { show(message.visible + "\n") }
        }
    }

    private func ask(_ question: String) throws(CommandError) -> String {
        show(question)
        guard let line = read() else {
            show("\n")
            throw CommandError(.usage, "the answers ended; nothing was written")
        }
        return String(line.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
    }

    /// One line for each recipe.
    static func list(_ recipes: [Recipe]) -> [String] {
        let width = recipes.map(\.name.count).max() ?? 0
        return recipes.enumerated().map { index, recipe in
            let number = String(index + 1)
            return
                "\(String(repeating: " ", count: 2 - number.count))\(number)  \(recipe.name.padded(to: width))  \(recipe.title)"
        }
    }
}
