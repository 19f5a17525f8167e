internal import FoundationEssentials
package import GatewayClient
internal import LosslessJSON

/// The result of a run for scripts: one JSON object (`--summary`).
package struct RunSummary: Sendable {
    /// Final counts, one member each.
    package var counters: RunCounters
    /// The sequence of the checkpoint, as the gateway sent it. Nil if there is none yet.
    package var lastSequence: SequenceID?
    /// Wall time: the member `seconds`.
    package var duration: Duration
    /// The process's exit code: the member `exit`.
    package var exitCode: Int32
    /// Adds the members `would_write` and `would_delete`.
    package var isDryRun: Bool
    /// Whether the run only let rules learn documents. Adds the member `learned`.
    package var onlyLearns = false

    /// The remaining member, `peak_memory`, is read when ``json`` is created.
    package init(
        counters: RunCounters, lastSequence: SequenceID?, duration: Duration, exitCode: Int32, isDryRun: Bool = false
    ) {
        self.counters = counters
        self.lastSequence = lastSequence
        self.duration = duration
        self.exitCode = exitCode
        self.isDryRun = isDryRun
    }

    /// JSON text with a final line feed.
    package var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            for (name, count) in RunCounters.members { writer.member(name, integer: count(counters)) }
            writer.member("peak_memory", integer: PeakMemory.bytes)
            writer.member("last_seq", raw: lastSequence?.json ?? Array("null".utf8))
            writer.member("seconds", raw: Self.seconds(duration).utf8)
            writer.member("exit", integer: exitCode)
            writer.name("rules")
            Self.write(counters.rules.fired, to: &writer)
            if onlyLearns {
                writer.name("learned")
                Self.write(counters.rules.learned, to: &writer)
            }
            if isDryRun {
                writer.member("would_write", integer: counters.preview.written)
                writer.member("would_delete", integer: counters.preview.deleted)
            }
        }
        return writer.bytes + [UInt8(ascii: "\n")]
    }

    private static func write(_ counts: [String: Int], to writer: inout JSONWriter) {
        writer.object { writer in
            for (rule, count) in counts.sorted(by: { $0.key < $1.key }) { writer.member(rule, integer: count) }
        }
    }

    /// With three decimal places.
    private static func seconds(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = String(attoseconds / 1_000_000_000_000_000)
        return "\(seconds).\(String(repeating: "0", count: 3 - milliseconds.count))\(milliseconds)"
    }
}

/// The largest resident set of this process so far.
private enum PeakMemory {
    /// In bytes; 0 if the kernel does not report it.
    ///
    /// - Note: Source: proc(5), `VmHWM` of `/proc/self/status`, in kB.
    static var bytes: Int {
        guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
        for line in status.split(separator: "\n") where line.hasPrefix("VmHWM:") {
            return line.split(separator: " ").compactMap { Int($0) }.first.map { $0 * 1024 } ?? 0
        }
        return 0
    }
}
