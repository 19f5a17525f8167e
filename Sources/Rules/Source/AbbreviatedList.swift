/// A list in a message: at most ten entries, and the number of the others.
package enum AbbreviatedList {
    private static let limit = 10

    /// `a, b, c`, or `a, b, … and 90 more`.
    package static func text(_ entries: [String]) -> String {
        // An eleventh entry is no longer than "1 more".
        guard entries.count > limit + 1 else { return entries.joined(separator: ", ") }
        return entries.prefix(limit).joined(separator: ", ") + " and \(entries.count - limit) more"
    }
}
