internal import Encodings
internal import Glibc
package import HTTPServing
internal import Locking

/// Shows bots over HTTP: `/livez`, `/readyz`, `/status`, `/events`, `/metrics` and a page at `/`. Read-only: it does
/// not allow changes.
package final class MonitoringServer: Sendable {
    /// The server's address and access settings.
    package struct Settings: Sendable {
        /// A name or an address.
        package var host: String
        /// 0 picks a free one.
        package var port: Int
        /// The page at `/`: HTML with one `<style>` and one `<script>`.
        package var page: [UInt8]
        /// Whether requests may use any host name. Default: only an address, `localhost`, or ``host``.
        package var acceptsAnyName = false

        /// All settings are required.
        package init(host: String, port: Int, page: [UInt8]) {
            self.host = host
            self.port = port
            self.page = page
        }
    }

    private let events = EventStream()
    private let status: CurrentStatus
    private let server: HTTPServer

    /// The port that was bound.
    package var port: Int { server.port }

    /// Listens until ``stop()``.
    ///
    /// - Parameter process: The bots to show.
    /// - Throws: `ListenError`.
    package init(_ settings: Settings, showing process: MonitoredProcess) async throws(ListenError) {
        status = CurrentStatus(of: process)
        var serving = HTTPServer.Settings(product: "changebot/\(process.version)")
        serving.host = settings.host
        serving.port = settings.port
        // Clients have no reason to send large bodies.
        serving.bodyLimit = 64 << 10
        serving.waiting = WaitingOutput(limit: 8 << 20)
        serving.bodies = IncomingBodies(limit: 1 << 20)
        // The browser reopens a page that was not read. Until then it uses little kernel memory.
        serving.timeouts = ConnectionTimeouts.Limits(readWithin: .seconds(30))
        serving.sendBuffer = 128 << 10
        let answers = MonitoringAnswers(settings: settings, process: process, events: events, status: status)
        server = try await HTTPServer.start(serving) { await answers.answer($0) }
    }

    /// Sends the status to the open pages once a second, until the task is cancelled. Sleeps while no page is open.
    package func run() async throws {
        var silence = 0
        var last: [UInt8] = []
        while true {
            while !events.hasListeners { try await events.opened.wait() }
            await status.refresh()
            silence += 1
            let event = status.forms.event
            // The status changes by itself only if it contains durations.
            if event != last {
                events.send(event)
                silence = 0
            } else if silence.isMultiple(of: 15) {
                events.send(EventStream.comment)
            }
            last = event
            try await Task.sleep(for: .seconds(1))
        }
    }

    /// Stops listening and closes all connections.
    package func stop() async {
        events.end()
        await server.stop()
    }
}

/// The resident memory of this process.
enum ResidentMemory {
    /// In bytes; 0 if the kernel does not say.
    ///
    /// - Note: Source: proc(5), the second number of `/proc/self/statm`, in pages.
    static var bytes: Double {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, 128, file) != nil else { return 0 }
        let fields = line.prefix { $0 != 0 }.split(separator: CChar(UInt8(ascii: " ")))
        guard fields.count > 1, let pages = Double(String(decoding: fields[1].map(UInt8.init), as: UTF8.self)) else {
            return 0
        }
        return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
    }
}
