internal import Glibc
internal import Synchronization

/// Keeps an early SIGTERM or SIGINT until the command's service runs and can stop gracefully. Otherwise a signal during
/// startup would end the process silently.
enum EarlySignal {
    /// The commands that run a ``StoppableService``.
    private static let commands: Set<String> = [
        "run", "fix", "export", "import", "replicate", "resolve", "verify", "gateway",
    ]
    /// The first signal; 0 if there was none. The code that takes it resends it.
    private static let received = Atomic<Int32>(0)
    /// Whether the service's handlers are set.
    private static let areHandlersSet = Atomic(false)

    /// Call it first of all. The service's own handlers later replace the ones that are set here.
    ///
    /// - Parameter command: The first word of the command line.
    static func install(for command: String?) {
        guard let command, commands.contains(command) else { return }
        // Also initializes both variables, which a signal handler must not do.
        received.store(0, ordering: .sequentiallyConsistent)
        areHandlersSet.store(false, ordering: .sequentiallyConsistent)
        if command == "run" { EarlyHangup.install() }
        for number in [SIGTERM, SIGINT] {
            signal(number) { number in
                if EarlySignal.received.exchange(number, ordering: .sequentiallyConsistent) != 0 { _exit(128 + number) }
                // On a busy machine, this handler may run after the service's handlers have replaced it.
                if EarlySignal.areHandlersSet.load(ordering: .sequentiallyConsistent) { EarlySignal.resend() }
            }
        }
    }

    /// Resends a kept signal. Call it once the service's handlers are set.
    static func deliver() {
        areHandlersSet.store(true, ordering: .sequentiallyConsistent)
        resend()
    }

    private static func resend() {
        let number = received.exchange(0, ordering: .sequentiallyConsistent)
        if number != 0 { kill(getpid(), number) }
    }
}
