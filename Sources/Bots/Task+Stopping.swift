internal import ServiceLifecycle

extension Task where Success == Never, Failure == Never {
    /// Whether this job was asked to stop. If not, a `CancellationError` is a bug, and unfinished work must not count
    /// as finished.
    static var isAskedToStop: Bool { isCancelled || isShuttingDownGracefully }
}
