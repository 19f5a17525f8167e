internal import HTTPTransport
internal import LosslessJSON

/// The answer to one `_changes` request, read as it arrives.
///
/// While nobody asks for the next batch the transfer is paused, so that memory holds one batch and a read-ahead of
/// 256 KiB whatever the length of the answer. Dropping it unread, or cancelling the reading task, closes the connection.
public struct ChangesAnswer {
    private let body: HTTPBody
    private let url: GatewayURL
    private let feed: ChangesRequest.Feed
    /// How long a longpoll may stay open once it has brought rows.
    private let longestFeed: Duration
    private var parser: ChangesParser
    /// Of a longpoll, the last row that was handed out.
    private var lastRow: SequenceID?
    private var isTimeUp = false
    /// How long nothing but blank lines may come.
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

    /// `last_seq`: where the next request goes on. Nil until ``next()`` has returned nil; of a continuous feed, where it
    /// stands behind the last batch, nil as long as nothing came.
    public var lastSequence: SequenceID? { parser.lastSequence ?? (isTimeUp ? lastRow : nil) }

    /// The next rows, as many as have arrived; nil once the answer has come to its proper end, or the time is up of a feed
    /// that waits for changes and has brought some.
    ///
    /// - Throws: `.connectionLost` if the answer is cut short: rows handed out before are good, ask again from the last
    ///   of them. `.malformedAnswer` if this is no answer of `_changes`.
    public mutating func next() async throws(GatewayError) -> ChangesBatch? {
        var blanks = BlankTimer(limit: longestBlank)
        while true {
            do throws(JSONFault) {
                if let batch = try parser.nextBatch() {
                    note(batch)
                    return batch
                }
            } catch {
                let place = "\(rowCount) \(rowCount == 1 ? "row" : "rows")"
                throw GatewayError(
                    .malformedAnswer, "\(url): the answer of _changes is not a feed, after \(place): \(error)")
            }
            let chunk: [UInt8]?
            do throws(HTTPTransportError) { chunk = try await body.next() } catch {
                // Whole rows have been handed out, the rest comes next time.
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
            // Feeds that wait have heartbeats, and a deadline of their own.
            guard case .normal = feed, blanks.isOver(chunk) else { continue }
            throw GatewayError(.timedOut, "\(url): _changes sends nothing but blank lines")
        }
    }

    /// A longpoll must bring its first row in time. What it brings then may be long: the rows of hours.
    private mutating func note(_ batch: ChangesBatch) {
        rowCount += batch.count
        guard case .longpoll = feed, let last = batch.last?.sequence else { return }
        if lastRow == nil { body.extendDeadline(by: longestFeed) }
        lastRow = last
    }
}

extension Gateway {
    /// Asks for the changes after `request.since`. Returns when the answer begins; a longpoll's head comes at once on
    /// Sync Gateway and with the first change on CouchDB.
    ///
    /// - Throws: `.badRequest` for a sequence, a filter or a feed that this gateway does not take.
    /// - Note: Source: `GET /{keyspace}/_changes`; `POST` with a list of documents.
    public func changes(_ request: ChangesRequest) async throws(GatewayError) -> ChangesAnswer {
        var exchange = GatewayRequest(place: .keyspace("_changes"), query: request.query)
        if let body = request.body { (exchange.method, exchange.body) = ("POST", [body]) }
        switch request.feed {
        case .normal:
            exchange.deadline = settings.deadlines.stream
        case .longpoll(let timeout):
            // Heartbeats are no silence, and a dead feed may send them for ever: hence both.
            exchange.deadline = timeout + settings.deadlines.longpollGrace
            exchange.silence = exchange.deadline
        case .continuous(let duration):
            exchange.deadline = min(duration, settings.deadlines.feed)
            exchange.silence = ChangesRequest.heartbeat * 2 + settings.deadlines.longpollGrace
        }
        return ChangesAnswer(
            body: try await open(exchange).body, url: url, feed: request.feed, deadlines: settings.deadlines)
    }
}
