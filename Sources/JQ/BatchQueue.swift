internal import Glibc
internal import Locking

/// The batches that wait for a helper process, and the threads that send them: one thread per process.
///
/// Threads, since they block while a process works; Swift tasks must not.
final class BatchQueue: @unchecked Sendable {
    private let programs: JQPrograms
    private let settings: JQPool.Settings
    /// The ids of the running processes.
    let processes = Locked<Set<pid_t>>([])
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    // Guarded by the mutex.
    private var waiting: [Batch] = []
    private var threads = 0
    private var idle = 0
    private var isShutDown = false

    init(programs: JQPrograms, settings: JQPool.Settings) {
        self.programs = programs
        self.settings = settings
        mutex = .allocate(capacity: 1)
        changed = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(changed, nil)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    /// Passes a batch to an idle thread, or to a new one if the limit allows.
    func add(_ batch: Batch) {
        let error: JQError? = locked {
            guard !isShutDown else { return .shutDown }
            if waiting.count >= idle, threads < max(settings.helpers, 1) { startThread() }
            guard threads > 0 else { return .notStarted("there are too many threads") }
            waiting.append(batch)
            pthread_cond_broadcast(changed)
            return nil
        }
        if let error { batch.fail(error) }
    }

    /// Ends all processes and threads, and waits for them. Unfinished batches fail.
    func shutDown() {
        let left = locked {
            isShutDown = true
            pthread_cond_broadcast(changed)
            defer { waiting = [] }
            return waiting
        }
        for batch in left { batch.fail(.shutDown) }
        locked { while threads > 0 { pthread_cond_wait(changed, mutex) } }
    }

    private func startThread() {
        var thread = pthread_t()
        let reference = Unmanaged.passRetained(self)
        let result = pthread_create(
            &thread, nil,
            { argument in
                if let argument { Unmanaged<BatchQueue>.fromOpaque(argument).takeRetainedValue().work() }
                return nil
            }, reference.toOpaque())
        guard result == 0 else { return reference.release() }
        pthread_detach(thread)
        threads += 1
    }

    private func work() {
        putAll(to: Conversation(programs: programs, settings: settings, register: processes))
        locked {
            threads -= 1
            pthread_cond_broadcast(changed)
        }
    }

    private func putAll(to conversation: consuming Conversation) {
        while let batch = next() {
            batch.put(to: conversation) { self.locked { self.isShutDown } ? .shutDown : nil }
        }
    }

    /// Waits for a batch; nil when the queue is shut down.
    private func next() -> Batch? {
        locked {
            while waiting.isEmpty, !isShutDown {
                idle += 1
                pthread_cond_wait(changed, mutex)
                idle -= 1
            }
            return isShutDown ? nil : waiting.removeFirst()
        }
    }
}
