package import Rules

/// Receives what a dry run would do.
package struct Preview: Sendable {
    /// Called for each document that would change or whose rules fail, one at a time and in order.
    let show: @Sendable (DecisionReport) async throws -> Void

    /// - Parameter show: Called for each document that would change or whose rules fail, one at a time and in order. An
    ///   error that it throws ends the run.
    package init(show: @escaping @Sendable (DecisionReport) async throws -> Void) { self.show = show }
}
