package import LosslessJSON

/// Tells which documents a filter matches. One for each task: what it writes to is its own.
package final class DocumentMatcher {
    private let selector: Selector
    private let scratch = MatchScratch()

    package init(_ filter: DocumentFilter) { selector = filter.selector }

    /// - Parameter document: May lie within a larger text.
    /// - Throws: If it can't be decided, such as for a regular expression that tries too many ways.
    package func matches(_ document: JSONValue) throws -> Bool { try selector.matches(document, scratch) }
}
