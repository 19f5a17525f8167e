/// Brings the work of a run.
package protocol WorkSource: Sendable {
    /// Whether it notices a graceful shutdown itself. Otherwise it is cancelled then.
    var endsItself: Bool { get }

    /// Brings all that there is, or until a graceful shutdown. Returns once there is no more.
    ///
    /// - Throws: `RunError`, ``StateError``, `CancellationError`.
    func run(into delivery: Delivery) async throws
}

extension WorkSource {
    package var endsItself: Bool { false }
}
