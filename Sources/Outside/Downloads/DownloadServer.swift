internal import DocumentFlow
internal import Rules

/// One attachment server: whether it is up, its requests in flight, and the contents that were fetched for deferred
/// documents.
///
/// Has no clock: the caller passes the time. Contents that were fetched for a document are kept until the document is
/// decided. So a document eventually gets all its contents, even from a slow server. While too much is kept, nothing is
/// fetched for other documents.
final class DownloadServer {
    typealias Instant = ContinuousClock.Instant

    /// Concurrent requests.
    private static let concurrency = 8
    /// Beyond these documents, or bytes of base64, nothing is fetched for other documents.
    private static let limits = (documents: 1_000, bytes: 16 << 20)
    /// Requests that may be in flight regardless of their size, and the expected bytes of base64 up to which further
    /// ones may begin.
    private static let largeContents = (requests: 2, bytes: 64 << 20)
    /// The weight of the newest content in ``usualBytes``.
    private static let weight = 0.125
    /// Contents are dropped if their document does not ask for them for this time: it may have been deleted.
    static let maxAbsence: Duration = .seconds(120)
    /// Documents do not wait for a server whose requests usually take this long.
    private static let maxWait: Duration = .milliseconds(500)
    /// How often a slow server is logged.
    private static let slownessInterval: Duration = .seconds(60)
    /// How long a document is deferred while its request is in flight.
    private static let delays = (shortest: Duration.milliseconds(500), longest: Duration.seconds(5))
    /// The longest delay of a document whose request has not begun: five seconds, or ten milliseconds for each waiting
    /// request. The server may be fast again by then.
    private static let maxDelay = (least: 5.0, perRequest: 0.01)
    /// Retry times are rounded up to multiples of this many seconds, so that documents are read together.
    private static let retryGrid = 0.5

    /// The answer to a request that has ended.
    enum Answer: Sendable {
        case ready(DownloadAnswer)
        /// The request must be repeated, but not before this time.
        case later(reason: String, due: Instant)
    }

    private struct Exchange {
        let document: String
        let task: Task<Void, Never>
        let since: Instant
    }

    /// The contents that were fetched for a document.
    private struct CachedContents {
        var answers: [DownloadRequest: Answer] = [:]
        /// When the document last asked, or a request ended.
        var usedAt: Instant
    }

    var health: ReceiverHealth
    /// Whether a request is in flight to a server that is down.
    var isProbed = false
    private var inProgress: [DownloadRequest: Exchange] = [:]
    private var kept: [String: CachedContents] = [:]
    /// The bytes of ``kept``.
    private var bytes = 0
    /// The mean size of recent contents. Nil: no content has arrived.
    private var usualBytes: Double?
    private var line = WaitingDownloads()
    private var pace = ReceiverPace(places: DownloadServer.concurrency)
    private var slownessShownAt: Instant?

    init(_ health: ReceiverHealth) { self.health = health }

    // MARK: - Documents

    var keepsNothing: Bool { kept.isEmpty }

    /// The first of these documents that has a request in flight or kept contents.
    func first(of documents: [String]) -> String? { documents.first(where: isServed) }

    private func isServed(_ document: String) -> Bool {
        kept[document] != nil || inProgress.values.contains { $0.document == document }
    }

    /// Drops the contents of a document that is decided.
    func release(_ document: String) {
        guard let answers = kept.removeValue(forKey: document)?.answers else { return }
        bytes -= answers.values.reduce(0) { $0 + $1.byteCount }
    }

    func dropAbandoned(_ now: Instant) {
        for (document, kept) in kept where kept.usedAt.duration(to: now) >= Self.maxAbsence { release(document) }
    }

    // MARK: - Requests

    /// Whether a request for a document may begin.
    enum Entry {
        case open
        /// Enough requests are in flight.
        case waiting
        /// Contents for other documents fill the memory.
        case full
    }

    /// Does not consider whether the server is down.
    func entry(_ request: DownloadRequest, for document: String) -> Entry {
        let isFull = kept.count >= Self.limits.documents || bytes >= Self.limits.bytes
        if isFull, !isServed(document) { return .full }
        guard inProgress.count >= Self.largeContents.requests else { return .open }
        let usual = Int(usualBytes ?? Double(request.lengthLimit) * 4 / 3)
        let expected = bytes + usual * (inProgress.count + 1)
        return inProgress.count < Self.concurrency && expected <= Self.largeContents.bytes ? .open : .waiting
    }

    /// When the request for the same content began, for any document. Nil: none is in flight.
    func start(of request: DownloadRequest) -> Instant? {
        inProgress.first { $0.key.url == request.url && $0.key.client == request.client }?.value.since
    }

    func begin(_ request: DownloadRequest, for document: String, _ task: Task<Void, Never>, now: Instant) {
        line.leave(WaitingDownloads.Entry(request: request, document: document))
        inProgress[request] = Exchange(document: document, task: task, since: now)
        pace.begin(now: now)
    }

    func end(_ request: DownloadRequest, _ answer: Answer, now: Instant) {
        guard let exchange = inProgress.removeValue(forKey: request) else { return }
        pace.end(start: exchange.since, now: now)
        bytes += answer.byteCount
        if answer.byteCount > 0 {
            let newest = Double(answer.byteCount)
            usualBytes = usualBytes.map { $0 + (newest - $0) * Self.weight } ?? newest
        }
        let former = kept[exchange.document, default: CachedContents(usedAt: now)].answers.updateValue(
            answer, forKey: request)
        bytes -= former?.byteCount ?? 0
        kept[exchange.document]?.usedAt = now
    }

    /// The next request that can begin without its document; nil if none can.
    func next() -> WaitingDownloads.Entry? {
        guard health.outage == nil, let next = line.first(where: { start(of: $0.request) == nil }) else { return nil }
        guard case .open = entry(next.request, for: next.document) else { return nil }
        return next
    }

    /// Removes a request that is no longer needed from the queue.
    func forget(_ want: WaitingDownloads.Entry) { line.leave(want) }

    /// The answer to a document's request, if it has arrived. An answer without content is returned only once.
    func answer(to request: DownloadRequest, for document: String, now: Instant) -> Answer? {
        guard let answer = kept[document]?.answers[request] else { return nil }
        kept[document]?.usedAt = now
        if case .later = answer {
            kept[document]?.answers[request] = nil
            if kept[document]?.answers.isEmpty == true { kept[document] = nil }
        }
        return answer
    }

    /// Ends all requests.
    func cancel() {
        for exchange in inProgress.values { exchange.task.cancel() }
    }

    // MARK: - Slowness

    /// Whether documents should not wait for a response of this server.
    func isSlow(_ now: Instant) -> Bool { pace.isSlower(than: Self.maxWait, waiting: line.count, now: now) }

    /// Defers a document that would have to wait too long.
    ///
    /// - Returns: When to try again, and whether to log that the server is slow.
    func deferDocument(
        _ request: DownloadRequest, _ document: String, now: Instant
    ) -> (due: Instant, shouldLog: Bool) {
        var shouldLog = false
        if slownessShownAt.map({ $0.duration(to: now) >= Self.slownessInterval }) ?? true {
            (shouldLog, slownessShownAt) = (true, now)
        }
        if let start = start(of: request) {
            // The longer the request takes, the less often the document asks.
            let delay = min(max(start.duration(to: now) / 2, Self.delays.shortest), Self.delays.longest)
            return (now + delay, shouldLog)
        }
        let place = line.join(WaitingDownloads.Entry(request: request, document: document))
        let ticks = (delay(atPlace: place, now: now) / Self.retryGrid).rounded(.up)
        return (now + .seconds(max(ticks, 1) * Self.retryGrid), shouldLog)
    }

    /// The seconds until a document should ask again.
    ///
    /// - Parameter place: Its place in the queue.
    private func delay(atPlace place: Int, now: Instant) -> Double {
        let expected = (pace.interval(now) ?? 0) * Double(place + Self.concurrency)
        let longest = max(Self.maxDelay.least, Self.maxDelay.perRequest * Double(line.count))
        guard expected > longest else { return expected }
        // Spread evenly, so that they do not retry all at once.
        let fraction = (Double(place) * 0.618).truncatingRemainder(dividingBy: 1)
        return longest * (0.5 + fraction / 2)
    }
}

extension DownloadServer.Answer {
    /// The content's bytes in memory. 0 if there is no content.
    fileprivate var byteCount: Int {
        if case .ready(.content(let content, _)) = self { content.base64.count } else { 0 }
    }
}
