internal import HTTPServing
internal import LosslessJSON

/// Answers the requests to a ``MonitoringServer``. Independent of sockets.
struct MonitoringAnswers: Sendable {
    let settings: MonitoringServer.Settings
    let process: MonitoredProcess
    let events: EventStream
    private let status: CurrentStatus
    private let statusPage: StatusPage

    init(settings: MonitoringServer.Settings, process: MonitoredProcess, events: EventStream, status: CurrentStatus) {
        self.settings = settings
        self.process = process
        self.events = events
        self.status = status
        statusPage = StatusPage(html: settings.page)
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
        case "/status": return secured(.json(status.forms.text))
        case "/metrics": return secured(typed(PrometheusText.contentType, process.registry.text()))
        case "/events": return eventAnswer
        default: return text("unknown path; the paths are /, /livez, /readyz, /status, /events and /metrics\n", 404)
        }
    }

    /// A web page of another site can reach this server under its own host name (DNS rebinding). A name must therefore
    /// be that of `--http`. An address can't belong to another site.
    private func isForThisServer(_ host: String?) -> Bool {
        guard let host else { return true }
        let name = host.hasPrefix("[") ? String(host.prefix { $0 != "]" }) + "]" : String(host.prefix { $0 != ":" })
        let isAddress = name.hasPrefix("[") || name.allSatisfy { $0.isASCII && ($0.isNumber || $0 == ".") }
        return isAddress || name.lowercased() == "localhost" || name.lowercased() == settings.host.lowercased()
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
        return secured(
            Answer(
                status: 200, fields: [HTTPField("Content-Type", "text/event-stream")],
                body: .streamed { send in
                    try await send(first)
                    for await event in events { try await send(event) }
                }))
    }

    private var page: Answer {
        var answer = secured(typed("text/html; charset=utf-8", statusPage.html))
        answer.fields.append(HTTPField("Content-Security-Policy", statusPage.policy))
        return answer
    }

    private func text(_ text: String, _ status: Int = 200) -> Answer {
        var answer = secured(typed("text/plain; charset=utf-8", Array(text.utf8)))
        answer.status = status
        return answer
    }

    private func typed(_ type: String, _ body: [UInt8]) -> Answer {
        Answer(status: 200, fields: [HTTPField("Content-Type", type)], body: .whole(body))
    }

    private func secured(_ answer: Answer) -> Answer {
        var answer = answer
        answer.fields += [
            HTTPField("Cache-Control", "no-store"), HTTPField("X-Content-Type-Options", "nosniff"),
            HTTPField("Referrer-Policy", "no-referrer"),
        ]
        return answer
    }
}
