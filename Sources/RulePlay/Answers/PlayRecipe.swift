/// A tested rule file in which the user chooses some values. The page adds its rules and tests to the open file.
package struct PlayRecipe: Sendable {
    /// A value that the user may choose.
    package struct Parameter: Sendable {
        package let name: String
        /// The value that is used if the user chooses none.
        package let value: String
        package let explanation: String
        /// Why a value can't be used, with the remedy. Nil: it can.
        package let refusal: @Sendable (String) -> String?

        package init(
            name: String, value: String, explanation: String, refusal: @escaping @Sendable (String) -> String?
        ) {
            (self.name, self.value, self.explanation, self.refusal) = (name, value, explanation, refusal)
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
    /// Checks the values.
    ///
    /// - Throws: 422 with everything that is wrong.
    func check(_ values: [String: String]) throws(Refusal) {
        let refusals = parameters.compactMap { parameter in
            values[parameter.name].flatMap(parameter.refusal).map { "\(parameter.name): \($0)" }
        }
        guard refusals.isEmpty else { throw Refusal(422, refusals.joined(separator: "; ")) }
    }
}
