internal import CoreMetrics
internal import Locking

/// The status of a process: its bots are asked when somebody wants it, and at most once a second. As JSON it is made at
/// most once between two refreshes, and one piece of memory, however many readers get it.
final class CurrentStatus: Sendable {
    /// The status in the forms in which it is sent.
    struct Forms: Sendable {
        /// One JSON object and a line feed.
        let text: [UInt8]
        /// The same as an event of server-sent events.
        let event: [UInt8]

        init(_ json: [UInt8]) {
            text = json + [UInt8(ascii: "\n")]
            event = EventStream.event("status", json)
        }
    }

    private struct Refreshing {
        var endedAt: ContinuousClock.Instant?
        var isUnderWay = false
        /// Those who wait for the end of the one under way.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// The shortest time between two refreshes: less than the second after which an open page gets the next event.
    private static let interval: Duration = .milliseconds(900)

    private let process: MonitoredProcess
    private let refreshing = Locked(Refreshing())
    /// Nil until somebody asks.
    private let made = Locked<Forms?>(nil)

    init(of process: MonitoredProcess) { self.process = process }

    /// Asks the bots where they stand, unless that was done within the last second. Any number of tasks may call.
    func refresh() async {
        let isDue = refreshing.withLock { refreshing in
            guard !refreshing.isUnderWay, refreshing.endedAt.map({ $0.duration(to: .now) >= Self.interval }) ?? true
            else { return false }
            refreshing.isUnderWay = true
            return true
        }
        guard isDue else { return await end() }
        for bot in process.bots { await bot.refresh(asksEngine: true) }
        Meter(label: MonitoredProcess.residentMemory.name, factory: process.registry).set(ResidentMemory.bytes)
        renew()
        let waiting = refreshing.withLock { refreshing in
            defer { refreshing = Refreshing(endedAt: .now) }
            return refreshing.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits for the end of the refresh under way, if there is one.
    private func end() async {
        await withCheckedContinuation { continuation in
            let isUnderWay = refreshing.withLock { refreshing in
                if refreshing.isUnderWay { refreshing.waiting.append(continuation) }
                return refreshing.isUnderWay
            }
            if !isUnderWay { continuation.resume() }
        }
    }

    /// Makes the status anew for the next reader.
    func renew() { made.withLock { $0 = nil } }

    var forms: Forms {
        made.withLock { made in
            let forms = made ?? Forms(process.status)
            made = forms
            return forms
        }
    }
}
