import Glibc
internal import Locking

/// The thread that owns libcurl's multi handle, and the executor of the ``CurlEngine`` that works it.
///
/// One queue takes the engine's jobs and the signals of other threads, in order. The thread sleeps in `curl_multi_poll`
/// and is woken through a pipe, only when it sleeps and only once. All signals are blocked on it: SIGPIPE, which TLS
/// writes can raise, would end the process, and the others belong to the program.
final class CurlLoop: SerialExecutor, TaskExecutor {
    /// What other threads tell the engine without waiting for it.
    enum Signal: Sendable {
        /// Abort the transfer and close its connection, if it is still there.
        case cancel(TransferID)
        /// The reader has taken bytes: a paused transfer may go on.
        case resume(TransferID)
        /// The transfer has got another deadline.
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

        /// Whether the thread has to be woken; true once for each sleep.
        mutating func mustWake() -> Bool {
            defer { isPolling = false }
            return isPolling
        }
    }

    private let state = Locked(State())
    /// -1 if it could not be made.
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

    /// Starts the thread, which lives until ``stop()`` or ``stopped()``.
    ///
    /// If the thread or its wake-up pipe can't be made, the engine is closed, and requests fail.
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

    /// Lets the thread end; does not wait.
    func stop() {
        let mustWake = state.withLock { state in
            state.isStopping = true
            return state.mustWake()
        }
        if mustWake { wake() }
    }

    /// Lets the thread end and waits until it has closed all connections.
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

    /// The pipe's end to poll along with the sockets.
    var wakeDescriptor: Int32 { wakeRead }

    /// False if there is work: then polling would be sleeping on it.
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
            engine.assumeIsolated { $0.turn(signals) }
        }
        engine.assumeIsolated { $0.close(HTTPTransportError(.cancelled, "the client is shut down")) }
        finish()
    }

    /// Runs all jobs that have come and returns the signals among them.
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

    /// Runs what is left; the engine is closed and answers at once. Later jobs run on the thread that brings them.
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

/// What `pthread_create` carries over to the new thread.
private final class ThreadBody: Sendable {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    static let entry: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
        guard let context else { return nil }
        Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().body()
        return nil
    }
}
