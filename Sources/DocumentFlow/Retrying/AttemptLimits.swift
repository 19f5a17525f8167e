/// How often one document, or the request for one, may fail before something else is done.
package enum AttemptLimits {
    /// Failures after which a document or a request is given up, if the gateway serves others meanwhile.
    package static let failures = 10
    /// Failures after which a request for several documents is sent in halves.
    static let failuresBeforeHalving = 3
    /// Consecutive conflicts after which a document is left alone for ``contestedWait``: others write it all the time.
    package static let conflicts = 10
    /// How long a document is left alone that changes faster than it can be written.
    package static let contestedWait: Duration = .seconds(1)
}
