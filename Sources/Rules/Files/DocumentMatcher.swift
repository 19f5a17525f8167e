package import LosslessJSON

/// Tells which documents a filter matches. One per task: it reuses buffers of its own.
package final class DocumentMatcher {
    private let selector: Selector
    private let scratch = MatchScratch()

    /// Cheap: the filter is compiled already.
    package init(_ filter: DocumentFilter) { selector = filter.selector }

    /// - Parameter document: May be part of a larger text.
    /// - Throws: If there is no answer, as when a regular expression exceeds its match limit.
    package func matches(_ document: JSONValue) throws -> Bool { try selector.matches(document, scratch) }
}
