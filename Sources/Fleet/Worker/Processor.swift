/// Decides changes, and carries out what was decided.
package protocol Processor: Sendable {
    /// Handles changes of different documents, in any order or all at once.
    ///
    /// Before each effect, with nothing to wait for in between, it checks that `tenure` is valid; otherwise the rest is
    /// postponed. It has time limits of its own, shorter than the time of a lease. When the task is cancelled, it stops
    /// soon. A change without an answer counts as failed.
    ///
    /// - Parameters:
    ///   - changes: For each document the newest change of the window. Older ones are answered with it.
    ///   - answer: Tells what happened to a change, once for each.
    func process(
        _ changes: [LoggedChange], _ tenure: Tenure, _ answer: @escaping @Sendable (LoggedChange, Verdict) -> Void
    ) async
}

/// What happened to a change. Texts are for people.
package enum Verdict: Hashable, Sendable {
    /// It is decided, and every effect is acknowledged.
    case done
    /// It waits for something: try again after this time. May happen any number of times.
    case parked(Duration, String)
    /// It must not be tried again.
    case dead(String)
    /// It failed for reasons of its own: try it alone, and a limited number of times.
    case failed(String)
    /// It was not tried, because the tenure is over or the task cancelled.
    case postponed
}
