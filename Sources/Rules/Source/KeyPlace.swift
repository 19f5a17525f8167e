/// Where a key belongs that is in another object of a rule file.
enum KeyPlace {
    private static let file = "write it at the top level of the file, next to 'rules'"
    private static let rule = "write it in a rule, next to 'when' and 'then'"
    private static let test = "write it in a test, below 'tests'"
    private static let expectation = "write it in the 'expect' of a test"

    /// Only keys whose place is certain.
    private static let remedies: [String: String] = {
        var remedies: [String: String] = [:]
        func add(_ keys: [String], _ remedy: String) { for key in keys { remedies[key] = remedy } }
        add(ActionRegistry.names, "it is an action: write it in the list 'then'")
        add([RuleStep.elementsKey], "write it next to the action, at the same level")
        add(["version", "kind", "slurp", "otherwise", "every", "time_zone", "rules", "tests"], file)
        add(["when", "unless", "if", "on", "changed", "remember", "first", "then", "on_error", "allow"], rule)
        add(["comment", "description", "note", "notes"], "write it as a comment, after '# '")
        add(["enabled", "disabled"], "to switch a rule off, write '# ' before each of its lines")
        add(["given", "only", "before", "in_conflict", "expect"], test)
        add(["fired", "effects", "blobs", "deleted"], expectation)
        return remedies
    }()

    /// The message for a key that belongs elsewhere. Nil if its place is not known.
    ///
    /// - Parameter others: Further keys, each with what to do.
    static func message(_ name: String, others: [String: String]) -> String? {
        (others[name] ?? remedies[name]).map { "'\(name)' does not belong here; \($0)" }
    }
}
