internal import Glibc

/// Keeps SIGTERM or SIGINT for a command that stops in good order, until its service runs. Without this, a signal
/// during the start ends the process without a word.
enum EarlySignal {
    /// The commands that run a ``StoppableService``.
    private static let commands: Set<String> = ["run", "fix", "export", "import", "verify", "gateway"]
    /// The first signal; 0 if there was none. Only the signal handler and ``deliver()`` use it.
    nonisolated(unsafe) private static var received: Int32 = 0

    /// To be called first of all. The service's own handlers replace the ones that are set here.
    ///
    /// - Parameter command: The first word of the command line.
    static func keep(for command: String?) {
        guard let command, commands.contains(command) else { return }
        received = 0
        if command == "run" { EarlyHangUp.keep() }
        for number in [SIGTERM, SIGINT] {
            signal(number) { number in
                if EarlySignal.received != 0 { _exit(128 + number) }
                EarlySignal.received = number
            }
        }
    }

    /// Sends a kept signal again. To be called once the service's handlers are set.
    static func deliver() {
        guard received != 0 else { return }
        kill(getpid(), received)
        received = 0
    }
}
