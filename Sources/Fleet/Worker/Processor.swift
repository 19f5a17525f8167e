/// Decides changes and carries out the decisions.
package protocol Processor: Sendable {
    /// Handles changes of different documents, in any order or all at once.
    ///
    /// Right before each effect, without awaiting anything in between, it checks that `tenure` is valid; otherwise it
    /// postpones the rest. Its time limits are shorter than the duration of a lease. When the task is cancelled, it
    /// stops soon. A change without an answer counts as failed.
    ///
    /// - Parameters:
    ///   - changes: The newest change of each document in the window. Its answer covers the older ones.
    ///   - answer: Called once for each change with its result.
    func process(
        _ changes: [LoggedChange], _ tenure: Tenure, _ answer: @escaping @Sendable (LoggedChange, Verdict) -> Void
    ) async
}

/// The result of a change. Texts are for operators.
package enum Verdict: Hashable, Sendable {
    /// Decided, and every effect is acknowledged.
    case done
    /// It waits for something: repeat it after this time. May happen any number of times.
    case parked(Duration, String)
    /// It must not be attempted again.
    case dead(String)
    /// The document itself caused the failure: attempt it in isolation, a limited number of times.
    case failed(String)
    /// It was not attempted: the tenure is over or the task was cancelled.
    case postponed
}
