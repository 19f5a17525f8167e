internal import HTTPServing
internal import LosslessJSON

/// Answers the requests to a ``MonitoringServer``. Independent of sockets.
struct MonitoringAnswers: Sendable {
    let settings: MonitoringServer.Settings
    let process: MonitoredProcess
    let events: EventStream
    private let status: CurrentStatus
    private let statusPage: SelfContainedPage

    init(settings: MonitoringServer.Settings, process: MonitoredProcess, events: EventStream, status: CurrentStatus) {
        self.settings = settings
        self.process = process
        self.events = events
        self.status = status
        statusPage = SelfContainedPage(html: settings.page)
    }

    func answer(_ request: Request) async -> Answer {
        guard isForThisServer(request.field("Host")) else {
            return text("this host name is not accepted; use the address, or the name given to --http\n", 421)
        }
        guard ["GET", "HEAD"].contains(request.method) else {
            var answer = text("only GET and HEAD are allowed\n", 405)
            answer.fields.append(HTTPField("Allow", "GET, HEAD"))
            return answer
        }
        let path = String(request.encodedPath)
        if ["/readyz", "/status", "/metrics", "/events"].contains(path) { await status.refresh() }
        switch path {
        case "/": return page
        case "/livez": return text("alive\n")
        case "/readyz": return readiness
        case "/status": return Answer.json(status.forms.text).secured
        case "/metrics": return typed(PrometheusText.contentType, process.registry.text()).secured
        case "/events": return eventAnswer
        default: return text("unknown path; the paths are /, /livez, /readyz, /status, /events and /metrics\n", 404)
        }
    }

    /// A web page of another site can reach this server under its own host name (DNS rebinding). A name must therefore
    /// be that of `--http`. An address can't belong to another site.
    private func isForThisServer(_ host: String?) -> Bool {
        guard let host = host.map(RequestedHost.init) else { return true }
        return host.isAddress || host.name == "localhost" || host.name == settings.host.lowercased()
            || settings.acceptsAnyName
    }

    private var readiness: Answer {
        let bots = process.bots
        let unreadyReasons = bots.compactMap { bot in bot.unreadyReason().map { "\(bot.name): \($0)\n" } }
        guard unreadyReasons.isEmpty, !bots.isEmpty else {
            return text(unreadyReasons.isEmpty ? "starting\n" : unreadyReasons.joined(), 503)
        }
        return text("ready\n")
    }

    private var eventAnswer: Answer {
        guard let events = events.listen() else { return text("too many pages are open\n", 503) }
        let first = status.forms.event
        return Answer(
            status: 200, fields: [HTTPField("Content-Type", "text/event-stream")],
            body: .streamed { send in
                try await send(first)
                for await event in events { try await send(event) }
            }
        ).secured
    }

    private var page: Answer { .page(statusPage).secured }

    private func text(_ text: String, _ status: Int = 200) -> Answer {
        var answer = typed("text/plain; charset=utf-8", Array(text.utf8)).secured
        answer.status = status
        return answer
    }

    private func typed(_ type: String, _ body: [UInt8]) -> Answer {
        Answer(status: 200, fields: [HTTPField("Content-Type", type)], body: .whole(body))
    }
}
