internal import DocumentFlow
internal import Encodings
internal import Glibc
internal import Locking
internal import Monitoring

/// Tells systemd what this process does, if `NOTIFY_SOCKET` is set. Messages that don't fit systemd's buffer are sent
/// with the next one. Other send errors are ignored.
final class ServiceNotifier: Sendable {
    private struct State {
        var messages = ServiceProtocol()
        var status = ServiceStatus()
        /// Messages that did not fit systemd's buffer yet, in order.
        var unsent: [String] = []

        mutating func status(of process: MonitoredProcess) -> String? {
            let bots = process.bots.map {
                ServiceStatus.Bot(
                    name: $0.name, facts: $0.facts, endReason: $0.endReason, deadLetters: $0.openDeadLetters)
            }
            return messages.show(status: status.text(bots, now: .now, seconds: Timestamp.secondsNow))
        }
    }

    private let socket: NotifySocket
    /// How long systemd waits for a sign of life before it kills the process; nil: the watchdog is off.
    let watchdogInterval: Duration?
    /// Locked while a message is sent, so that messages arrive in order. Sending never waits.
    private let state = Locked(State())

    private static let socketVariable = "NOTIFY_SOCKET"
    private static let intervalVariable = "WATCHDOG_USEC"
    private static let processVariable = "WATCHDOG_PID"

    /// - Parameters:
    ///   - variables: The environment variables.
    ///   - process: The id of this process. A watchdog for another process is not fed.
    /// - Returns: Nil if there is no listener.
    init?(_ variables: [String: String], process: Int32 = getpid()) {
        guard let name = variables[Self.socketVariable], let socket = NotifySocket(name) else { return nil }
        self.socket = socket
        let isForAnother = variables[Self.processVariable].map { $0 != String(process) } ?? false
        let interval = variables[Self.intervalVariable].flatMap(Int64.init).flatMap { $0 > 0 ? $0 : nil }
        watchdogInterval = isForAnother ? nil : interval.map { .microseconds($0) }
    }

    /// The notifier of this process. Removes the variables from the environment, so that child processes can't notify
    /// systemd in its name.
    static func ofThisProcess() -> ServiceNotifier? {
        var variables: [String: String] = [:]
        for name in [socketVariable, intervalVariable, processVariable] {
            guard let value = getenv(name) else { continue }
            variables[name] = String(cString: value)
            unsetenv(name)
        }
        return ServiceNotifier(variables)
    }

    private func send(_ decide: (inout State) -> [String?]) {
        state.withLock { state in
            let lines = decide(&state).compactMap(\.self)
            if !lines.isEmpty { state.unsent.append(lines.joined(separator: "\n")) }
            let sent = state.unsent.firstIndex { !socket.send($0) } ?? state.unsent.endIndex
            state.unsent.removeFirst(sent)
            // Drop unsent signs of life and outdated statuses: the next ones replace them.
            let newestStatus = state.unsent.lastIndex { $0.hasPrefix("STATUS=") }
            state.unsent = state.unsent.enumerated().filter { index, message in
                message != Self.watchdogMessage && (index == newestStatus || !message.hasPrefix("STATUS="))
            }.map(\.element)
        }
    }

    // MARK: - The start

    /// Notes that these bots are about to start.
    func expect(_ bots: [String]) {
        send { state in
            state.messages.expect(bots)
            return [state.messages.show(status: "starting")]
        }
    }

    /// Notes that a bot follows its feed, waits for its gateway, or has ended.
    func noteStarted(_ bot: String, of process: MonitoredProcess) {
        send { [$0.messages.noteStarted(bot), $0.status(of: process)] }
    }

    // MARK: - While it runs

    /// Sends the bots' status as of their last refresh, if it has changed.
    func update(_ process: MonitoredProcess) { send { [$0.status(of: process)] } }

    /// Notes that rules and configuration are about to be reloaded.
    func noteReloading() {
        send { [$0.messages.reloading(at: Self.monotonicMicroseconds)] }
    }

    /// Notes that rules and configuration were read.
    func noteReloaded(isValid: Bool, of process: MonitoredProcess) {
        send { state in
            state.status.isReloadRefused = !isValid
            return [state.messages.reloaded(), state.status(of: process)]
        }
    }

    /// - Note: Source: sd_notify(3): `MONOTONIC_USEC=` is a time of CLOCK_MONOTONIC.
    private static var monotonicMicroseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000 + time.tv_nsec / 1000
    }

    /// Sends a sign of life.
    func feedWatchdog() { send { _ in [Self.watchdogMessage] } }

    private static let watchdogMessage = "WATCHDOG=1"

    // MARK: - The end

    /// Notes that the process is finishing the current work.
    func noteStopping(within grace: Duration) {
        send {
            [$0.messages.stopping(within: grace), $0.messages.show(status: "stopping: finishing the current work")]
        }
    }

    /// Notes that the process ends because of an error.
    func noteFailure(_ failure: CommandError) {
        let reason = failure.messages.first ?? "\(failure)"
        send {
            [
                $0.messages.stopping(within: .zero),
                $0.messages.show(status: "failed with exit code \(failure.code.rawValue): \(reason)"),
            ]
        }
    }
}
