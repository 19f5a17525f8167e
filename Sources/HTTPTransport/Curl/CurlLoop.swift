import Glibc
internal import Locking

/// The thread that owns libcurl's multi handle, and the executor of the ``CurlEngine`` that drives it.
///
/// One queue takes the engine's jobs and other threads' signals, in order. The thread sleeps in `curl_multi_poll` and
/// is woken through a pipe, only while it sleeps and only once. All Unix signals are blocked on it: SIGPIPE, which TLS
/// writes can raise, would end the process, and the program handles the others.
final class CurlLoop: SerialExecutor, TaskExecutor {
    /// Messages of other threads to the engine, which do not wait for it.
    enum Signal: Sendable {
        /// Abort the transfer and close its connection, if it is still there.
        case cancel(TransferID)
        /// The reader has taken bytes: a paused transfer may continue.
        case resume(TransferID)
        /// The transfer has a new deadline.
        case extend(TransferID, to: ContinuousClock.Instant)
    }

    private enum Work: Sendable {
        case job(UnownedJob)
        case signal(Signal)
    }

    private struct State: Sendable {
        var work: [Work] = []
        var isPolling = false
        var isStopping = false
        var isFinished = false
        var owner: pthread_t?
        var stopWaiters: [UnsafeContinuation<Void, Never>] = []

        /// Whether the thread must be woken; true once for each sleep.
        mutating func mustWake() -> Bool {
            defer { isPolling = false }
            return isPolling
        }
    }

    private let state = Locked(State())
    /// -1 if the pipe could not be created.
    private let wakeRead: Int32
    private let wakeWrite: Int32

    init(_ resources: SystemResources) {
        (wakeRead, wakeWrite) = resources.pipe() ?? (-1, -1)
        for end in [wakeRead, wakeWrite] where end >= 0 {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
    }

    deinit {
        for end in [wakeRead, wakeWrite] where end >= 0 { close(end) }
    }

    /// Starts the thread, which runs until ``stop()`` or ``stopped()``.
    ///
    /// If the thread or its wake-up pipe can't be created, the engine is closed, and requests fail.
    func start(_ engine: CurlEngine, _ resources: SystemResources) {
        guard wakeRead >= 0, engine.hasHandle, startThread(engine, resources) else {
            state.withLock { $0.owner = pthread_self() }
            engine.assumeIsolated { engine in
                engine.close(
                    HTTPTransportError(.outOfResources, "the process has no descriptors, threads or memory left"))
            }
            return finish()
        }
    }

    private func startThread(_ engine: CurlEngine, _ resources: SystemResources) -> Bool {
        let box = Unmanaged.passRetained(ThreadBody { engine.loop.run(engine) })
        var (all, before) = (sigset_t(), sigset_t())
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        guard resources.startThread(ThreadBody.entry, box.toOpaque()) else {
            box.release()
            return false
        }
        return true
    }

    // MARK: From any thread

    func enqueue(_ job: consuming ExecutorJob) { add(.job(UnownedJob(job))) }

    func post(_ signal: Signal) { add(.signal(signal)) }

    /// Tells the thread to end; does not wait.
    func stop() {
        let mustWake = state.withLock { state in
            state.isStopping = true
            return state.mustWake()
        }
        if mustWake { wake() }
    }

    /// Tells the thread to end and waits until it has closed all connections.
    func stopped() async {
        stop()
        await withUnsafeContinuation { waiter in
            let isFinished = state.withLock { state in
                if !state.isFinished { state.stopWaiters.append(waiter) }
                return state.isFinished
            }
            if isFinished { waiter.resume() }
        }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    func isIsolatingCurrentContext() -> Bool? {
        state.withLock { state in state.owner.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    func checkIsolated() {
        precondition(isIsolatingCurrentContext() == true, "not on the loop's thread")
    }

    // MARK: On the loop's thread

    /// The end of the wake-up pipe that is polled along with the sockets.
    var wakeDescriptor: Int32 { wakeRead }

    /// Returns false if there is work, so that the thread must not sleep.
    func beginPolling() -> Bool {
        state.withLock { state in
            state.isPolling = state.work.isEmpty && !state.isStopping
            return state.isPolling
        }
    }

    func endPolling(wasWoken: Bool) {
        state.withLock { $0.isPolling = false }
        guard wasWoken else { return }
        var bytes: (UInt64, UInt64) = (0, 0)
        _ = read(wakeRead, &bytes, 16)
    }

    private func run(_ engine: CurlEngine) {
        state.withLock { $0.owner = pthread_self() }
        while !state.withLock(\.isStopping) {
            let signals = runJobs()
            engine.assumeIsolated { $0.runRound(signals) }
        }
        engine.assumeIsolated { $0.close(HTTPTransportError(.cancelled, "the client is shut down")) }
        finish()
    }

    /// Runs all jobs in the queue and returns the signals in it.
    private func runJobs() -> [Signal] {
        var signals: [Signal] = []
        let work = state.withLock { state in
            defer { state.work = [] }
            return state.work
        }
        for item in work {
            switch item {
            case .job(let job): run(job)
            case .signal(let signal): signals.append(signal)
            }
        }
        return signals
    }

    private func run(_ job: UnownedJob) {
        job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
    }

    /// Runs the remaining jobs; the closed engine answers immediately. Later jobs run on the thread that enqueues them.
    private func finish() {
        while true {
            _ = runJobs()
            let waiters: [UnsafeContinuation<Void, Never>]? = state.withLock { state in
                guard state.work.isEmpty else { return nil }
                state.isFinished = true
                state.owner = nil
                defer { state.stopWaiters = [] }
                return state.stopWaiters
            }
            guard let waiters else { continue }
            for waiter in waiters { waiter.resume() }
            return
        }
    }

    private func add(_ work: Work) {
        // Enqueueing does not retain an executor. The work itself may release the last reference to this loop, here or
        // on the loop's thread.
        let kept = Unmanaged.passRetained(self)
        defer { kept.release() }
        let (mustWake, mustRun) = state.withLock { state in
            state.work.append(work)
            guard state.isFinished, state.owner == nil else { return (state.mustWake(), false) }
            state.owner = pthread_self()
            return (false, true)
        }
        if mustWake { wake() }
        if mustRun { finish() }
    }

    private func wake() {
        var byte: UInt8 = 1
        _ = write(wakeWrite, &byte, 1)
    }
}

/// The body of the new thread, passed through the argument of `pthread_create`.
private final class ThreadBody: Sendable {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    static let entry: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
        guard let context else { return nil }
        Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().body()
        return nil
    }
}
