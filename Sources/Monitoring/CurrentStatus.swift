internal import CoreMetrics
internal import Locking

/// The status of a process. Its bots are queried on request, at most once a second. The JSON is created at most once
/// between two refreshes, and all readers share its memory.
final class CurrentStatus: Sendable {
    /// The status in the forms in which it is sent.
    struct Renderings: Sendable {
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
        /// Callers that wait for the end of the current refresh.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// The shortest time between two refreshes: less than the second after which an open page gets the next event.
    private static let interval: Duration = .milliseconds(900)

    private let process: MonitoredProcess
    private let refreshing = Locked(Refreshing())
    /// Nil until the first request.
    private let cached = Locked<Renderings?>(nil)

    init(of process: MonitoredProcess) { self.process = process }

    /// Queries the bots' status, unless that was done within the last second. Any number of tasks may call.
    func refresh() async {
        let isDue = refreshing.withLock { refreshing in
            guard !refreshing.isUnderWay, refreshing.endedAt.map({ $0.duration(to: .now) >= Self.interval }) ?? true
            else { return false }
            refreshing.isUnderWay = true
            return true
        }
        guard isDue else { return await end() }
        for bot in process.bots { await bot.refresh(queriesEngine: true) }
        Meter(label: MonitoredProcess.residentMemory.name, factory: process.registry).set(ResidentMemory.bytes)
        renew()
        let waiting = refreshing.withLock { refreshing in
            defer { refreshing = Refreshing(endedAt: .now) }
            return refreshing.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits for the end of the current refresh, if there is one.
    private func end() async {
        await withCheckedContinuation { continuation in
            let isUnderWay = refreshing.withLock { refreshing in
                if refreshing.isUnderWay { refreshing.waiting.append(continuation) }
                return refreshing.isUnderWay
            }
            if !isUnderWay { continuation.resume() }
        }
    }

    /// Discards the JSON, so that the next reader gets a new one.
    func renew() { cached.withLock { $0 = nil } }

    var forms: Renderings {
        cached.withLock { cached in
            let forms = cached ?? Renderings(process.status)
            cached = forms
            return forms
        }
    }
}
