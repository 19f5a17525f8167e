internal import Locking

/// What became of the requests of one kind, such as for attachments.
package struct RequestHistory: Sendable {
    /// Requests that succeeded.
    package private(set) var successes = 0

    /// No request yet.
    package init() {}

    /// A request succeeded.
    package mutating func noteSuccess() {
        successes += 1
    }
}

/// The history of one kind of request, shared by the tasks that send them.
package final class SharedHistory: Sendable {
    private let locked = Locked(RequestHistory())

    /// No request yet.
    package init() {}

    /// Counts a success.
    package func noteSuccess() { locked.withLock { $0.noteSuccess() } }

    /// Reads or changes the history.
    package func with<Result>(_ body: (inout RequestHistory) -> Result) -> Result { locked.withLock(body) }
}
