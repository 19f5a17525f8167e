internal import FoundationEssentials
internal import RulePlay
internal import Rules

extension PlayRecipe {
    init(_ recipe: Recipe) {
        self.init(
            name: recipe.name, title: recipe.title,
            parameters: recipe.parameters.map { parameter in
                Parameter(
                    name: parameter.name, value: parameter.shownValue, explanation: parameter.explanation,
                    refusal: { parameter.refusal(of: $0) })
            },
            text: { values, path in recipe.text(recipe.completed(values), path: path) },
            addFiles: { values, path throws in try recipe.addPictures(values, besideRuleFile: path) })
    }
}

extension Recipe {
    /// Creates those of the files that come with the program, beside a rule file. Never replaces a file.
    ///
    /// - Returns: The names of new files.
    fileprivate func addPictures(_ chosen: [String: String], besideRuleFile path: String) throws -> [String] {
        let values = completed(chosen)
        var added: [String] = []
        for parameter in parameters where parameter.kind == .file {
            guard let name = values[parameter.name], !name.contains("/"), name.hasSuffix(".png") else { continue }
            let content = DemoFiles.asset(name)
            let file = RulePath.join(RulePath.folder(of: path), name)
            guard !content.isEmpty, !FileManager.default.fileExists(atPath: file) else { continue }
            try OutputFile.write(content, to: file)
            added.append(name)
        }
        return added
    }
}
