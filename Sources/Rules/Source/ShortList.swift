/// A list in a message: at most ten of its entries, and how many more there are.
package enum ShortList {
    private static let limit = 10

    /// `a, b, c`, or `a, b, … and 90 more`.
    package static func text(_ entries: [String]) -> String {
        // One more is not longer than the note about it.
        guard entries.count > limit + 1 else { return entries.joined(separator: ", ") }
        return entries.prefix(limit).joined(separator: ", ") + " and \(entries.count - limit) more"
    }
}
