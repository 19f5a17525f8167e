internal import NIOConcurrencyHelpers
internal import NIOCore

/// The open connections, one task each. When a connection closes, its task is cancelled, so that a waiting longpoll
/// ends when its client disconnects.
final class Connections: Sendable {
    private struct State {
        var tasks: [ObjectIdentifier: Task<Void, Never>] = [:]
        var isStopped = false
    }

    private let state = NIOLockedValueBox(State())

    func add(_ channel: any Channel, _ serve: @escaping @Sendable () async -> Void) {
        let id = ObjectIdentifier(channel)
        // Created under the lock, so that a task that ends immediately can't remove itself before it was added.
        let (task, isStopped) = state.withLockedValue { state in
            let task = Task {
                await serve()
                self.state.withLockedValue { _ = $0.tasks.removeValue(forKey: id) }
            }
            state.tasks[id] = task
            return (task, state.isStopped)
        }
        if isStopped { task.cancel() }
        channel.closeFuture.whenComplete { _ in task.cancel() }
    }

    /// Cancels the tasks of all connections and waits for them.
    func stop() async {
        let tasks = state.withLockedValue { state in
            state.isStopped = true
            return Array(state.tasks.values)
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }
}
