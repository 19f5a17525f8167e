/// The source of a run's work.
package protocol WorkSource: Sendable {
    /// Whether it notices a graceful shutdown itself. Otherwise it is cancelled then.
    var handlesShutdown: Bool { get }

    /// Enqueues all work, until there is no more or until a graceful shutdown.
    ///
    /// - Throws: `RunError`, ``StateError``, `CancellationError`.
    func run(into delivery: Delivery) async throws
}

extension WorkSource {
    package var handlesShutdown: Bool { false }
}
