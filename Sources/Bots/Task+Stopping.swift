internal import ServiceLifecycle

extension Task where Success == Never, Failure == Never {
    /// Whether this job was asked to stop. Without that, a `CancellationError` is a mistake, and work that is left
    /// undone must not pass for done.
    static var isAskedToStop: Bool { isCancelled || isShuttingDownGracefully }
}
