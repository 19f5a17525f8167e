internal import DocumentFlow
internal import GatewayClient

/// Finds out whether anything between here and the gateway cuts idle requests: sends a longpoll and sees how it ends.
struct IdleCheck: Sendable {
    /// The same time for which `run` waits.
    static let defaultSpan = ChangesRequest.defaultLongpollTimeout
    /// `run` treats a request that ends sooner as an outage (`FeedReader.Waits.idleAfter`).
    static let outageLimit: Duration = .seconds(5)
    /// The time between heartbeats of a continuous feed.
    static let heartbeat: Duration = .seconds(25)
    /// An earlier error is a refusal, not the end of an idle request.
    private static let minWait: Duration = .milliseconds(500)

    enum Outcome: Sendable {
        /// The gateway answered properly, without changes.
        case answered(after: Duration)
        /// The request ended without a proper answer.
        case cut(after: Duration, GatewayError)
        /// No response came, not even long after the requested time.
        case silent(after: Duration)
        /// Changes kept coming. This was the longest time without one.
        case busy(longest: Duration)
        /// The request was refused.
        case refused(GatewayError)
    }

    let gateway: Gateway
    let channels: [String]?
    /// How long to wait in all.
    let span: Duration

    /// - Parameter since: The newest sequence of the database.
    func wait(since: SequenceID) async -> Outcome {
        let begun = ContinuousClock.now
        var (since, longest) = (since, Duration.zero)
        while true {
            let start = ContinuousClock.now
            do throws(GatewayError) {
                let (rows, last) = try await poll(since, max(.seconds(1), span))
                let waited = start.duration(to: .now)
                guard rows > 0 else { return .answered(after: waited) }
                since = last ?? since
                longest = max(longest, waited)
            } catch {
                return Self.outcome(of: error, after: start.duration(to: .now))
            }
            guard begun.duration(to: .now) < span else { return .busy(longest: longest) }
            // Like `run`, pause between requests to a busy database.
            try? await Task.sleep(for: .milliseconds(500))
        }
    }

    private func poll(
        _ since: SequenceID, _ timeout: Duration
    ) async throws(GatewayError) -> (rows: Int, last: SequenceID?) {
        var request = ChangesRequest(
            since: since, feed: .longpoll(timeout: timeout), includesDocuments: false,
            filter: channels.map { .channels($0) })
        request.usesNewConnection = true
        var answer = try await gateway.changes(request)
        var rows = 0
        while let batch = try await answer.next() { rows += batch.count }
        return (rows, answer.lastSequence)
    }

    /// What a failed request means.
    static func outcome(of error: GatewayError, after waited: Duration) -> Outcome {
        if error.code == .timedOut, error.status == nil { return .silent(after: waited) }
        let isEnd =
            error.code == .connectionLost || [408, 502, 503, 504, 524].contains(error.status ?? 0)
        return isEnd && waited >= minWait ? .cut(after: waited, error) : .refused(error)
    }

    // MARK: - Finding

    /// - Parameters:
    ///   - span: How long the check waited.
    ///   - following: How the bot waits for changes.
    static func finding(_ outcome: Outcome, span: Duration, _ following: FeedReader.FeedMode) -> Finding {
        switch outcome {
        case .answered(let waited):
            // CouchDB ends every longpoll after 60 s, regardless of the requested timeout.
            guard waited + .seconds(2) < min(span, .seconds(60)) else {
                return .ok("nothing cut a request that was idle for \(seconds(waited))")
            }
            return Finding(
                .unknown,
                "the gateway answered after \(seconds(waited)), without changes, but was asked to wait \(seconds(span))",
                remedy: "run doctor again; if this persists, read the gateway's log")
        case .busy(let longest):
            return Finding(
                .unknown, "changes kept coming: the longest wait without one was \(seconds(longest))",
                remedy: "run doctor again when fewer documents are written")
        case .silent(let waited):
            return Finding(
                .warning,
                "no response came within \(seconds(waited)), although the gateway was asked to answer after \(seconds(span))",
                remedy: "if there is a proxy, make it forward responses at once (nginx: proxy_buffering off)")
        case .refused(let error):
            return Finding(.unknown, error, "a waiting request was refused")
        case .cut(let waited, let error): return cut(waited, error, following)
        }
    }

    private static func cut(_ waited: Duration, _ error: GatewayError, _ following: FeedReader.FeedMode) -> Finding {
        let howEnded = error.status.map { "with HTTP \($0)" } ?? "by closing the connection"
        let text = "something between here and the gateway cut an idle request after \(seconds(waited)), \(howEnded)"
        let needed = following == .continuous ? heartbeat : defaultSpan
        guard waited < needed else {
            return .ok("\(text); the bot waits only \(seconds(needed)), so this does not affect it")
        }
        let setting =
            "set the idle timeout of proxies and load balancers to 75 s (nginx: proxy_read_timeout 75s; HAProxy: timeout server 75s)"
        let other = waited > heartbeat ? ", or use --feed continuous, which sends something every 25 s" : ""
        guard waited >= outageLimit else {
            return Finding(.error, "\(text): this is so short that the bot treats it as an outage", remedy: setting)
        }
        return Finding(.warning, "\(text); the bot repeats the request each time", remedy: setting + other)
    }

    /// Rounded to whole seconds: `30 s`.
    private static func seconds(_ duration: Duration) -> String { "\(Int((duration / .seconds(1)).rounded())) s" }
}
