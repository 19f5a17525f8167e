internal import CoreMetrics
internal import Encodings
internal import Locking
internal import LosslessJSON

/// The monitored bots of a process, and the last reload of its rules and configuration.
package final class MonitoredProcess: Sendable {
    /// The last attempt to reload rules and configuration.
    private struct Reload {
        /// RFC 3339.
        let time: String
        /// Why the old ones are still in force; nil if the new ones are.
        let failure: String?
    }

    private struct State {
        var bots: [MonitoredBot] = []
        var reload: Reload?
    }

    /// The program's version.
    package let version: String
    /// The metrics of all bots.
    package let registry = PrometheusRegistry(families)
    private let state = Locked(State())

    /// The metrics of the process itself.
    private static let processFamilies = [build, residentMemory, reloads, lastReload, lastReloadTime]

    private static let build = MetricFamily("changebot_build_info", .gauge, "The version of the program. Always 1.")
    static let residentMemory = MetricFamily(
        "changebot_resident_memory_bytes", .gauge, "Resident memory of the process.")
    private static let reloads = MetricFamily(
        "changebot_reloads_total", .counter, "How often rules and configuration were reloaded, by result.")
    private static let lastReload = MetricFamily(
        "changebot_last_reload_successful", .gauge, "1 if the last reload of rules and configuration succeeded.")
    private static let lastReloadTime = MetricFamily(
        "changebot_last_reload_success_timestamp_seconds", .gauge, "Time of the last successful reload.")

    /// All metrics that a process exports, in the order of the text.
    static let families = processFamilies + BotMetrics.families

    /// Creates a process without bots.
    package init(version: String) {
        self.version = version
        Meter(label: Self.build.name, dimensions: [("version", version)], factory: registry).set(1)
    }

    /// The bots that run or have run, in order of their start.
    package var bots: [MonitoredBot] { state.withLock(\.bots) }

    /// Adds a bot. It replaces a bot of the same name.
    package func show(_ bot: MonitoredBot) {
        state.withLock { state in
            if let index = state.bots.firstIndex(where: { $0.name == bot.name }) {
                state.bots[index] = bot
            } else {
                state.bots.append(bot)
            }
        }
    }

    /// Removes a bot that is no longer in the configuration, with its metrics.
    package func hide(_ name: String) {
        state.withLock { $0.bots.removeAll { $0.name == name } }
        registry.removeSeries("bot", name)
    }

    /// Records a reload of rules and configuration.
    ///
    /// - Parameter failure: Why the old ones are still in force; nil if the new ones are.
    package func noteReload(failure: String?) {
        state.withLock { $0.reload = Reload(time: Timestamp.now, failure: failure) }
        let result = failure == nil ? "ok" : "failed"
        Counter(label: Self.reloads.name, dimensions: [("result", result)], factory: registry).increment()
        Meter(label: Self.lastReload.name, factory: registry).set(failure == nil ? 1 : 0)
        guard failure == nil else { return }
        Meter(label: Self.lastReloadTime.name, factory: registry).set(Timestamp.secondsNow)
    }

    /// Writes the status of the process and its bots, as of their last refresh: one JSON object.
    func write(to writer: inout JSONWriter) {
        let state = state.withLock { $0 }
        writer.object { writer in
            writer.member("program", string: "changebot")
            writer.member("version", string: version)
            writer.name("reload")
            if let reload = state.reload {
                writer.object { writer in
                    writer.member("time", string: reload.time)
                    writer.member("failure", optional: reload.failure)
                }
            } else {
                writer.null()
            }
            writer.name("bots")
            writer.array { writer in for bot in state.bots { bot.write(to: &writer) } }
        }
    }

    /// ``write(to:)`` as bytes.
    package var status: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }
}
