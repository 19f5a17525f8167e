package import LosslessJSON

/// Tests documents against a filter. One per task: an instance reuses its buffers.
package final class DocumentMatcher {
    private let selector: Selector
    private let scratch = MatchScratch()

    /// Cheap: the filter is already compiled.
    package init(_ filter: DocumentFilter) { selector = filter.selector }

    /// - Parameter document: May be part of a larger text.
    /// - Throws: If the match can't be decided, for example when a regular expression exceeds its match limit.
    package func matches(_ document: JSONValue) throws -> Bool { try selector.matches(document, scratch) }
}
