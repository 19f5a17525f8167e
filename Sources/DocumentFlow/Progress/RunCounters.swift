/// What a run has done so far. Byte counts are of bodies, not of heads.
package struct RunCounters: Sendable, Equatable {
    /// Rows of the feed, or documents of a full pass.
    package var changes = 0
    /// Changes that at least one rule fired on, or would have but for a fault.
    package var matched = 0
    /// Documents that the gateway accepted: deletions and other documents that rules put included.
    package var written = 0
    /// How many of these are tombstones.
    package var deleted = 0
    /// Documents that a dry run would have written, counted in the same way.
    package var shown = 0
    /// How many of these would be tombstones.
    package var shownDeletions = 0
    /// Matching documents that were already as the rules want them.
    package var unchanged = 0
    /// Writes that met another revision, each time.
    package var conflicts = 0
    /// Documents that the gateway refused for good.
    package var rejected = 0
    /// Changes dead-lettered, refused ones included.
    package var deadLetters = 0
    /// Requests sent again.
    package var retries = 0
    package var bytesIn = 0
    package var bytesOut = 0
    /// How often each rule fired, by its name.
    package var rules: [String: Int] = [:]

    package init() {}
}
