internal import Locking

/// The status of a process as JSON: made at most once between two refreshes, and one piece of memory, however many
/// readers get it.
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

    private let process: MonitoredProcess
    /// Nil until somebody asks.
    private let made = Locked<Forms?>(nil)

    init(of process: MonitoredProcess) { self.process = process }

    /// Call after each refresh.
    func renew() { made.withLock { $0 = nil } }

    var forms: Forms {
        made.withLock { made in
            let forms = made ?? Forms(process.status)
            made = forms
            return forms
        }
    }
}
