internal import CEmbeddedFiles

/// A tested rule file in which the user chooses some values.
///
/// It begins with a comment: the title, then the parameters with their values in this file, then notes.
struct Recipe {
    let name: String
    /// What its rules do, such as `attach a picture to documents with a certain name`.
    let title: String
    let parameters: [RecipeParameter]
    /// Comments for the user.
    private let notes: [String]
    /// The file after its first comment.
    private let body: String

    /// All recipes of this program, sorted by name.
    static let all: [Recipe] = (0..<recipe_count).compactMap { index in
        let file = recipe_at(index).pointee
        return Recipe(name: String(cString: file.path), text: String(decoding: file.content, as: UTF8.self))
    }

    /// Nil if the file does not begin with the comment of a recipe.
    init?(name: String, text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let comment = lines.prefix { $0.hasPrefix("#") }
        guard let title = comment.first?.after("# Recipe: ") else { return nil }
        self.name = name
        self.title = title
        let rest = comment.dropFirst().drop { $0 == "#" }
        let described = rest.prefix { $0.hasPrefix("#   ") }
        parameters = described.compactMap(RecipeParameter.init)
        guard parameters.count == described.count else { return nil }
        notes = Array(rest.dropFirst(described.count))
        body = lines.dropFirst(comment.count).joined(separator: "\n")
    }

    /// The rule file with these values in place of the recipe's.
    ///
    /// - Parameters:
    ///   - values: By parameter. The other parameters keep their values.
    ///   - path: The file's name, for its comment.
    func text(_ values: [String: String], path: String) -> String {
        let path = path.visible
        let comment =
            ["# " + title.prefix(1).uppercased() + title.dropFirst() + "."] + notes + [
                "#", "# Test it with: changebot rules test \(path)",
                "# Run it with:  changebot run --gateway http://127.0.0.1:4985/todo --rules \(path)",
            ]
        return comment.joined(separator: "\n") + "\n" + RecipeText(body).replacing(values, of: parameters)
    }
}

extension String {
    /// The rest of the string; nil if it does not begin with this prefix.
    fileprivate func after(_ prefix: String) -> String? {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
    }
}
