internal import DocumentFlow
internal import Rules

/// One server of attachments: whether it answers, what is under way there, and what was fetched for documents that are
/// away.
///
/// Has no clock: the caller passes the time. What was fetched for a document is kept until it is decided. So it finds all
/// that it needs in the end, however slow the server is. While too much is kept, nothing is fetched for other documents.
final class DownloadServer {
    typealias Instant = ContinuousClock.Instant

    /// Requests at a time.
    private static let concurrency = 8
    /// Documents, and bytes of base64, that may be kept when something is fetched for another document.
    private static let limits = (documents: 1_000, bytes: 16 << 20)
    /// Requests that may be under way however large the contents are, and bytes of base64 that more of them may bring.
    private static let largeContents = (requests: 2, bytes: 64 << 20)
    /// The weight of the newest content in ``usualBytes``.
    private static let weight = 0.125
    /// What is kept for a document that stays away for so long is dropped: the document may have been deleted.
    static let longestAbsence: Duration = .seconds(120)
    /// A server is not waited for if that usually takes so long.
    private static let longestWait: Duration = .milliseconds(500)
    /// While the server is slow, that is logged this often.
    private static let slownessInterval: Duration = .seconds(60)
    /// A document that waits for a request which is under way comes back after a time between these.
    private static let absences = (shortest: Duration.milliseconds(500), longest: Duration.seconds(5))
    /// A document whose request has not begun comes back after so many seconds at the latest: the server may be fast again
    /// by then. If many wait, that takes longer: so long for each of them.
    private static let longestTurn = (of: 5.0, ofEach: 0.01)
    /// Those that come back within such a time do so together: their documents are read at once.
    private static let returnsTogether = 0.5

    /// The answer to a request that has ended.
    enum Answer: Sendable {
        case ready(DownloadAnswer)
        /// The request is to be made again, but not before this time.
        case later(reason: String, due: Instant)
    }

    private struct Exchange {
        let document: String
        let task: Task<Void, Never>
        let since: Instant
    }

    /// What was fetched for a document.
    private struct Kept {
        var answers: [DownloadRequest: Answer] = [:]
        /// When its document asked last, or a request ended.
        var usedAt: Instant
    }

    var health: ReceiverHealth
    /// Whether a request is under way to a server that is down.
    var isTried = false
    private var underWay: [DownloadRequest: Exchange] = [:]
    private var kept: [String: Kept] = [:]
    /// Of what is kept.
    private var bytes = 0
    /// The mean of the newest contents; nil: none has come yet.
    private var usualBytes: Double?
    private var line = DownloadLine()
    private var pace = ReceiverPace(places: DownloadServer.concurrency)
    private var slownessShownAt: Instant?

    init(_ health: ReceiverHealth) { self.health = health }

    // MARK: - Documents

    var keepsNothing: Bool { kept.isEmpty }

    /// The first of these documents for which something is under way or kept.
    func first(of documents: [String]) -> String? { documents.first(where: isServed) }

    private func isServed(_ document: String) -> Bool {
        kept[document] != nil || underWay.values.contains { $0.document == document }
    }

    /// The document is decided.
    func release(_ document: String) {
        guard let answers = kept.removeValue(forKey: document)?.answers else { return }
        bytes -= answers.values.reduce(0) { $0 + $1.byteCount }
    }

    func dropAbandoned(_ now: Instant) {
        for (document, kept) in kept where kept.usedAt.duration(to: now) >= Self.longestAbsence { release(document) }
    }

    // MARK: - Requests

    /// Whether a request for a document may begin.
    enum Entry {
        case open
        /// As many as may be are under way.
        case waiting
        /// Others must come back first.
        case full
    }

    /// The server may be down nevertheless.
    func entry(_ request: DownloadRequest, for document: String) -> Entry {
        let isFull = kept.count >= Self.limits.documents || bytes >= Self.limits.bytes
        if isFull, !isServed(document) { return .full }
        guard underWay.count >= Self.largeContents.requests else { return .open }
        let usual = Int(usualBytes ?? Double(request.lengthLimit) * 4 / 3)
        let expected = bytes + usual * (underWay.count + 1)
        return underWay.count < Self.concurrency && expected <= Self.largeContents.bytes ? .open : .waiting
    }

    /// Since when a request for the same content is under way, for whatever document. Nil: none is.
    func start(of request: DownloadRequest) -> Instant? {
        underWay.first { $0.key.url == request.url && $0.key.tokenFile == request.tokenFile }?.value.since
    }

    func begin(_ request: DownloadRequest, for document: String, _ task: Task<Void, Never>, now: Instant) {
        line.leave(DownloadLine.Want(request: request, document: document))
        underWay[request] = Exchange(document: document, task: task, since: now)
        pace.begin(now: now)
    }

    func end(_ request: DownloadRequest, _ answer: Answer, now: Instant) {
        guard let exchange = underWay.removeValue(forKey: request) else { return }
        pace.end(start: exchange.since, now: now)
        bytes += answer.byteCount
        if answer.byteCount > 0 {
            let newest = Double(answer.byteCount)
            usualBytes = usualBytes.map { $0 + (newest - $0) * Self.weight } ?? newest
        }
        let former = kept[exchange.document, default: Kept(usedAt: now)].answers.updateValue(answer, forKey: request)
        bytes -= former?.byteCount ?? 0
        kept[exchange.document]?.usedAt = now
    }

    /// The next request that can begin without its document; nil if none can.
    func next() -> DownloadLine.Want? {
        guard health.outage == nil, let next = line.first(where: { start(of: $0.request) == nil }) else { return nil }
        guard case .open = entry(next.request, for: next.document) else { return nil }
        return next
    }

    /// It need not begin any more.
    func forget(_ want: DownloadLine.Want) { line.leave(want) }

    /// The answer to a document's request, if it is there. Without a content, it is given once.
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
        for exchange in underWay.values { exchange.task.cancel() }
    }

    // MARK: - Slowness

    /// Whether nobody should wait for an answer here.
    func isSlow(_ now: Instant) -> Bool { pace.isSlower(than: Self.longestWait, waiting: line.count, now: now) }

    /// Sends a document away that would wait for long.
    ///
    /// - Returns: When it is to come back, and whether it is time to log that the server is slow.
    func sendAway(
        _ request: DownloadRequest, _ document: String, now: Instant
    ) -> (due: Instant, isNews: Bool) {
        var isNews = false
        if slownessShownAt.map({ $0.duration(to: now) >= Self.slownessInterval }) ?? true {
            (isNews, slownessShownAt) = (true, now)
        }
        if let start = start(of: request) {
            // The longer it takes, the less often somebody looks.
            let absence = min(max(start.duration(to: now) / 2, Self.absences.shortest), Self.absences.longest)
            return (now + absence, isNews)
        }
        let place = line.join(DownloadLine.Want(request: request, document: document))
        let ticks = (turn(ofPlace: place, now: now) / Self.returnsTogether).rounded(.up)
        return (now + .seconds(max(ticks, 1) * Self.returnsTogether), isNews)
    }

    /// After how many seconds a document should look again.
    ///
    /// - Parameter place: Its place in the line.
    private func turn(ofPlace place: Int, now: Instant) -> Double {
        let turn = (pace.interval(now) ?? 0) * Double(place + Self.concurrency)
        let longest = max(Self.longestTurn.of, Self.longestTurn.ofEach * Double(line.count))
        guard turn > longest else { return turn }
        // Not all at once: spread evenly, whatever the order.
        let fraction = (Double(place) * 0.618).truncatingRemainder(dividingBy: 1)
        return longest * (0.5 + fraction / 2)
    }
}

extension DownloadServer.Answer {
    /// What the content takes in memory; 0 if there is none.
    fileprivate var byteCount: Int {
        if case .ready(.content(let content, _)) = self { content.base64.count } else { 0 }
    }
}
