/// How often a document, or the request for one, may fail before the next measure.
package enum AttemptLimits {
    /// Failures after which a document or a request is given up while the gateway answers others.
    package static let failures = 10
    /// Failures after which a request for several documents is sent in halves.
    static let minFailuresForHalving = 3
    /// Consecutive conflicts after which a document is skipped for ``contestedWait``, because others keep writing it.
    package static let conflicts = 10
    /// How long a document is skipped that changes faster than it can be written.
    package static let contestedWait: Duration = .seconds(1)
}
