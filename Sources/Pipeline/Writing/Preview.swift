package import Rules

/// Where a dry run shows what it would do.
package struct Preview: Sendable {
    /// Called for each document that would change, or would be dead-lettered, one after the other in their order.
    let show: @Sendable (DecisionReport) async throws -> Void

    package init(show: @escaping @Sendable (DecisionReport) async throws -> Void) { self.show = show }
}
