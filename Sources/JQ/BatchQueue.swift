internal import Glibc
internal import Locking

/// The batches that wait for a helper process, and the threads that send them: one thread for each process.
///
/// Uses threads because they block while a process works, which Swift tasks must not.
final class BatchQueue: Sendable {
    private let programs: JQPrograms
    private let settings: JQPool.Settings
    /// The ids of the running processes.
    let processes = Locked<Set<pid_t>>([])
    private let state = Monitor(State())

    private struct State: Sendable {
        var waiting: [Batch] = []
        var threads = 0
        var idle = 0
        var isShutDown = false
    }

    init(programs: JQPrograms, settings: JQPool.Settings) {
        self.programs = programs
        self.settings = settings
    }

    /// The helpers that could start work at once.
    var availableHelpers: BatchParts.Helpers {
        state.quietly { state in
            let spare = state.idle - state.waiting.count
            return BatchParts.Helpers(
                idle: max(spare, 0), unstarted: max(max(settings.helpers, 1) - state.threads + min(spare, 0), 0))
        }
    }

    /// Passes a batch to an idle thread, or to a new thread if the limit allows.
    func add(_ batch: Batch) {
        let error: JQError? = state.with { state in
            guard !state.isShutDown else { return .shutDown }
            if state.waiting.count >= state.idle, state.threads < max(settings.helpers, 1), startThread() {
                state.threads += 1
            }
            guard state.threads > 0 else { return .notStarted("there are too many threads") }
            state.waiting.append(batch)
            return nil
        }
        if let error { batch.fail(error) }
    }

    /// Ends all processes and threads, and waits for them. Unfinished batches fail.
    func shutDown() {
        let left = state.with { state in
            state.isShutDown = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for batch in left { batch.fail(.shutDown) }
        state.block { $0.threads == 0 }
    }

    /// - Returns: False if the system can't start another thread.
    private func startThread() -> Bool {
        var thread = pthread_t()
        let reference = Unmanaged.passRetained(self)
        let result = pthread_create(
            &thread, nil,
            { argument in
                if let argument { Unmanaged<BatchQueue>.fromOpaque(argument).takeRetainedValue().work() }
                return nil
            }, reference.toOpaque())
        guard result == 0 else {
            reference.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    private func work() {
        putAll(to: Conversation(programs: programs, settings: settings, register: processes))
        state.with { $0.threads -= 1 }
    }

    private func putAll(to conversation: consuming Conversation) {
        while let batch = next() {
            batch.put(to: conversation) { self.state.quietly { $0.isShutDown } ? .shutDown : nil }
        }
    }

    /// Waits for a batch. Nil after shutdown.
    private func next() -> Batch? {
        state.quietly { $0.idle += 1 }
        return state.block(
            until: { !$0.waiting.isEmpty || $0.isShutDown },
            then: { state in
                state.idle -= 1
                return state.isShutDown ? nil : state.waiting.removeFirst()
            })
    }
}
