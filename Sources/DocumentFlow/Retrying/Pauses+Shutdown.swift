internal import ServiceLifecycle

extension Pauses {
    /// Every wait ends with ``RunIsStopping`` once a graceful shutdown begins.
    package static let endedByGracefulShutdown = Pauses { duration in
        do {
            try await cancelWhenGracefulShutdown { try await Task.sleep(for: duration) }
        } catch is CancellationError where !Task.isCancelled {
            throw RunIsStopping()
        }
    }
}
