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
                    choices: { parameter.isPicture ? PictureFiles.choices(beside: $0) : [] },
                    refusal: { value, path in
                        if let refusal = parameter.refusal(of: value) { return refusal }
                        guard parameter.isPicture, !PictureFiles.isOwn(value) else { return nil }
                        return PictureFiles.refusal(of: value, in: path)
                    })
            },
            text: { values, path in recipe.text(recipe.completed(values), path: path) },
            addFiles: { values, path throws in try recipe.addPictures(values, besideRuleFile: path) })
    }
}

extension PictureFiles {
    /// Whether the picture comes with the program. The page creates it beside the rule file.
    fileprivate static func isOwn(_ name: String) -> Bool {
        !name.contains("/") && isPicture(name) && !DemoFiles.asset(name).isEmpty
    }

    /// The pictures that exist, and those that come with the program.
    fileprivate static func choices(beside path: String) -> [String] {
        let found = beside(path)
        let own = DemoFiles.embedded.compactMap { $0.path.split(separator: "/").last.map(String.init) }
        return found + own.filter { isOwn($0) && !found.contains($0) }.sorted()
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
            guard let name = values[parameter.name], PictureFiles.isOwn(name) else { continue }
            let content = DemoFiles.asset(name)
            let file = RulePath.join(RulePath.folder(of: path), name)
            guard !FileManager.default.fileExists(atPath: file) else { continue }
            try OutputFile.write(content, to: file)
            added.append(name)
        }
        return added
    }
}
