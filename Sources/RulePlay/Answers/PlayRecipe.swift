/// A tested rule file in which the user chooses some values. The page adds its rules and tests to the open file.
package struct PlayRecipe: Sendable {
    /// A value that the user may choose.
    package struct Parameter: Sendable {
        package let name: String
        /// The value that is used if the user chooses none.
        package let value: String
        package let explanation: String
        /// Values that the page suggests: files beside the rule file at a path.
        package let choices: @Sendable (_ path: String) -> [String]
        /// Why a value can't be used in the rule file at a path, with the remedy. Nil: it can.
        package let refusal: @Sendable (_ value: String, _ path: String) -> String?

        package init(
            name: String, value: String, explanation: String,
            choices: @escaping @Sendable (_ path: String) -> [String] = { _ in [] },
            refusal: @escaping @Sendable (_ value: String, _ path: String) -> String?
        ) {
            (self.name, self.value, self.explanation) = (name, value, explanation)
            (self.choices, self.refusal) = (choices, refusal)
        }
    }

    package let name: String
    /// What its rules do.
    package let title: String
    package let parameters: [Parameter]
    /// The rule file for chosen values.
    package let text: @Sendable (_ values: [String: String], _ path: String) -> String
    /// Creates the recipe's own files beside the rule file, unless they exist, and returns their names.
    package let addFiles: @Sendable (_ values: [String: String], _ path: String) throws -> [String]

    package init(
        name: String, title: String, parameters: [Parameter],
        text: @escaping @Sendable (_ values: [String: String], _ path: String) -> String,
        addFiles: @escaping @Sendable (_ values: [String: String], _ path: String) throws -> [String]
    ) {
        (self.name, self.title, self.parameters) = (name, title, parameters)
        (self.text, self.addFiles) = (text, addFiles)
    }
}

extension PlayRecipe {
    /// The recipe and the chosen values, as the heading of its documents.
    func group(_ values: [String: String]) -> String {
        let chosen = parameters.compactMap { parameter in values[parameter.name].map { "\(parameter.name): \($0)" } }
        return "Recipe \(name)" + (chosen.isEmpty ? "" : " (\(chosen.joined(separator: ", ")))")
    }

    /// Checks the values.
    ///
    /// - Throws: 422 with everything that is wrong.
    func check(_ values: [String: String], _ path: String) throws(Refusal) {
        let refusals = parameters.compactMap { parameter in
            values[parameter.name].flatMap { parameter.refusal($0, path) }.map { "\(parameter.name): \($0)" }
        }
        guard refusals.isEmpty else { throw Refusal(422, refusals.joined(separator: "; ")) }
    }
}
