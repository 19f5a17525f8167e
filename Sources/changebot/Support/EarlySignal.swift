internal import Glibc
internal import Synchronization

/// Keeps SIGTERM or SIGINT for a command that stops in good order, until its service runs. Without this, a signal
/// during the start ends the process without a word.
enum EarlySignal {
    /// The commands that run a ``StoppableService``.
    private static let commands: Set<String> = [
        "run", "fix", "export", "import", "replicate", "resolve", "verify", "gateway",
    ]
    /// The first signal; 0 if there was none. The code that takes it sends it again.
    private static let received = Atomic<Int32>(0)
    /// Whether the service's handlers are set.
    private static let areHandlersSet = Atomic(false)

    /// To be called first of all. The service's own handlers replace the ones that are set here.
    ///
    /// - Parameter command: The first word of the command line.
    static func keep(for command: String?) {
        guard let command, commands.contains(command) else { return }
        // Also makes both exist, which a signal handler could not.
        received.store(0, ordering: .sequentiallyConsistent)
        areHandlersSet.store(false, ordering: .sequentiallyConsistent)
        if command == "run" { EarlyHangUp.keep() }
        for number in [SIGTERM, SIGINT] {
            signal(number) { number in
                if EarlySignal.received.exchange(number, ordering: .sequentiallyConsistent) != 0 { _exit(128 + number) }
                // On a busy machine, this handler may run after the service's own have taken its place.
                if EarlySignal.areHandlersSet.load(ordering: .sequentiallyConsistent) { EarlySignal.sendAgain() }
            }
        }
    }

    /// Sends a kept signal again. To be called once the service's handlers are set.
    static func deliver() {
        areHandlersSet.store(true, ordering: .sequentiallyConsistent)
        sendAgain()
    }

    private static func sendAgain() {
        let number = received.exchange(0, ordering: .sequentiallyConsistent)
        if number != 0 { kill(getpid(), number) }
    }
}
