internal import Encodings
internal import HTTPTransport
internal import LosslessJSON

/// The answer to one `_changes` request, read as it arrives.
///
/// The transfer is paused until the next batch is requested, so memory holds one batch and 256 KiB read ahead, whatever
/// the length of the answer. Dropping the answer unread, or cancelling the reading task, closes the connection.
public struct ChangesAnswer {
    private let body: HTTPBody
    private let url: GatewayURL
    private let feed: ChangesRequest.Feed
    /// How long a longpoll may stay open once it has brought rows.
    private let longestFeed: Duration
    private var parser: ChangesParser
    /// Of a longpoll, the last row that was returned.
    private var lastRow: SequenceID?
    private var isTimeUp = false
    /// How long only blank lines may arrive.
    private let longestBlank: Duration
    private var rowCount = 0

    init(
        body: HTTPBody, url: GatewayURL, feed: ChangesRequest.Feed, deadlines: GatewaySettings.Deadlines
    ) {
        self.body = body
        self.url = url
        self.feed = feed
        longestFeed = deadlines.feed
        longestBlank = deadlines.silence
        parser = ChangesParser(isContinuous: feed.isContinuous)
    }

    /// `last_seq`: where the next request continues. Nil until ``next()`` has returned nil. For a continuous feed it is
    /// the position after the last batch, nil until the first one.
    public var lastSequence: SequenceID? { parser.lastSequence ?? (isTimeUp ? lastRow : nil) }

    /// The next rows, as many as have arrived. Nil at the proper end of the answer, and when the time is up: for a
    /// continuous feed, or for a longpoll that has delivered rows.
    ///
    /// - Throws: `.connectionLost` if the answer is cut short: rows returned before are valid, request again from the
    ///   last of them. `.malformedAnswer` if this is not an answer of `_changes`. `.timedOut` also if only blank lines
    ///   arrive.
    public mutating func next() async throws(GatewayError) -> ChangesBatch? {
        var blanks = BlankTimer(limit: longestBlank)
        while true {
            do throws(JSONError) {
                if let batch = try parser.nextBatch() {
                    note(batch)
                    return batch
                }
            } catch {
                throw GatewayError(
                    .malformedAnswer,
                    "\(url): the answer of _changes is not a feed, after \(rowCount.counted("row")): \(error)")
            }
            let chunk: [UInt8]?
            do throws(HTTPTransportError) { chunk = try await body.next() } catch {
                // All rows returned so far are complete; the next request brings the rest.
                isTimeUp = error.code == .timedOut(.exchange) && (feed.isContinuous || lastRow != nil)
                if isTimeUp { return nil }
                throw GatewayError(error)
            }
            guard let chunk else {
                guard parser.isComplete else {
                    throw GatewayError(.connectionLost, "\(url): the answer of _changes is cut short")
                }
                return nil
            }
            parser.append(chunk)
            // Feeds that wait send heartbeats, and have a deadline of their own.
            guard case .normal = feed, blanks.isOver(chunk) else { continue }
            throw GatewayError(.timedOut, "\(url): _changes sends nothing but blank lines")
        }
    }

    /// A longpoll must deliver its first row in time. After that it gets more time: there may be hours of changes.
    private mutating func note(_ batch: ChangesBatch) {
        rowCount += batch.count
        guard case .longpoll = feed, let last = batch.last?.sequence else { return }
        if lastRow == nil { body.extendDeadline(by: longestFeed) }
        lastRow = last
    }
}

extension Gateway {
    /// For feeds that wait: somebody may wait for what a change leads to.
    private static let gatheringTimeOfFeeds: Duration = .milliseconds(4)

    /// Requests the changes after `request.since`. Returns when the head of the answer arrives. For a longpoll that is
    /// at once on Sync Gateway, and with the first change on CouchDB.
    ///
    /// - Throws: `.badRequest` for a sequence, filter or feed type that this gateway does not accept.
    /// - Note: Source: `GET /{keyspace}/_changes`; `POST` if the filter lists documents.
    public func changes(_ request: ChangesRequest) async throws(GatewayError) -> ChangesAnswer {
        var exchange = GatewayRequest(place: .keyspace("_changes"), query: request.query)
        if let body = request.body { (exchange.method, exchange.body) = ("POST", [body]) }
        switch request.feed {
        case .normal:
            exchange.deadline = settings.deadlines.stream
            exchange.gatheringTime = GatewayRequest.gatheringTimeOfLists
        case .longpoll(let timeout):
            exchange.gatheringTime = Self.gatheringTimeOfFeeds
            // Heartbeats end a silence, and a dead feed may send them forever: so both limits are needed.
            exchange.deadline = timeout + settings.deadlines.longpollGrace
            exchange.silence = exchange.deadline
        case .continuous(let duration):
            exchange.gatheringTime = Self.gatheringTimeOfFeeds
            exchange.deadline = min(duration, settings.deadlines.feed)
            exchange.silence = ChangesRequest.heartbeat * 2 + settings.deadlines.longpollGrace
        }
        return ChangesAnswer(
            body: try await open(exchange).body, url: url, feed: request.feed, deadlines: settings.deadlines)
    }
}
