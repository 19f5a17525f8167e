internal import Encodings
internal import HTTPTransport
package import LosslessJSON

extension Gateway {
    /// For feeds that wait for changes: a short time, because it delays the reaction to a change.
    private static let feedGatheringTime: ClosedRange<Duration> = .milliseconds(4) ... .milliseconds(4)

    /// Requests the changes after `request.since`. Returns when the head of the answer arrives. For a longpoll, Sync
    /// Gateway sends it immediately, and CouchDB with the first change.
    ///
    /// - Throws: `.badRequest` for a sequence, filter or feed type that this gateway does not accept.
    /// - Note: Source: `GET /{keyspace}/_changes`; `POST` if the filter lists documents.
    public func changes(_ request: ChangesRequest) async throws(GatewayError) -> ChangesAnswer {
        var exchange = GatewayRequest(place: .keyspace("_changes"), query: request.query)
        exchange.usesNewConnection = request.usesNewConnection
        exchange.mayAnswerLate = request.feed != .normal
        if let body = request.body { (exchange.method, exchange.body) = ("POST", .json(body)) }
        switch request.feed {
        case .normal:
            exchange.deadline = settings.deadlines.stream
            exchange.silence = request.maxWaitForWrites
            exchange.gatheringTime = GatewayRequest.listGatheringTime
        case .longpoll(let timeout):
            exchange.gatheringTime = Self.feedGatheringTime
            // Heartbeats prevent a silence timeout, and a dead feed may send them forever. Both limits are therefore
            // needed.
            exchange.deadline = timeout + settings.deadlines.longpollGrace
            exchange.silence = exchange.deadline
        case .continuous(let duration):
            exchange.gatheringTime = Self.feedGatheringTime
            exchange.deadline = min(duration, settings.deadlines.feed)
            exchange.silence = ChangesRequest.heartbeat * 2 + settings.deadlines.longpollGrace
        }
        return ChangesAnswer(
            body: try await open(exchange).body, url: url, feed: request.feed, since: request.since,
            deadlines: settings.deadlines)
    }
}

/// The answer to one `_changes` request, read as it arrives.
///
/// The transfer is paused until the next batch is requested, so memory holds one batch and 256 KiB read ahead, whatever
/// the length of the answer. Dropping the answer unread, or cancelling the reading task, closes the connection.
public struct ChangesAnswer {
    private let body: HTTPBody
    private let url: GatewayURL
    private let feed: ChangesRequest.Feed
    /// How long a longpoll may stay open after its first rows.
    private let maxFeedTime: Duration
    private var parser: ChangesParser
    /// The last row that a longpoll has returned.
    private var lastRow: SequenceID?
    private var isTimeUp = false
    /// The longest time in which only blank lines may arrive.
    private let maxWhitespaceTime: Duration
    private var rowCount = 0

    init(
        body: HTTPBody, url: GatewayURL, feed: ChangesRequest.Feed, since: SequenceID,
        deadlines: GatewaySettings.Deadlines
    ) {
        self.body = body
        self.url = url
        self.feed = feed
        maxFeedTime = deadlines.feed
        maxWhitespaceTime = deadlines.silence
        parser = ChangesParser(isContinuous: feed.isContinuous, since: since)
    }

    /// `last_seq`: where the next request continues. Nil until ``next()`` has returned nil. For a continuous feed it is
    /// the position after the last batch, nil until the first one.
    public var lastSequence: SequenceID? { parser.lastSequence ?? (isTimeUp ? lastRow : nil) }

    /// The next rows, as many as have arrived. Nil at the proper end of the answer, and when a continuous feed or a
    /// longpoll with rows reaches its time limit.
    ///
    /// - Throws: `.connectionLost` if the answer is truncated: earlier rows are valid, request again from the last of
    ///   them. `.malformedAnswer` if this is not an answer of `_changes`. `.timedOut` also if only blank lines arrive.
    public mutating func next() async throws(GatewayError) -> ChangesBatch? {
        var blanks = WhitespaceTimer(limit: maxWhitespaceTime)
        while true {
            do throws(JSONError) {
                if let batch = try parser.nextBatch() {
                    note(batch)
                    return batch
                }
            } catch {
                throw GatewayError(
                    .malformedAnswer,
                    "\(url): the answer to _changes is not a feed, after \(rowCount.counted("row")): \(error)")
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
                    throw GatewayError(.connectionLost, "\(url): the answer to _changes is cut short")
                }
                return nil
            }
            parser.append(chunk)
            // Feeds that wait for changes send heartbeats, and have their own deadline.
            guard case .normal = feed, blanks.isOver(chunk) else { continue }
            throw GatewayError(.timedOut, "\(url): _changes sends only blank lines")
        }
    }

    /// A longpoll must deliver its first row in time. It then gets more time, because hours of changes may follow.
    private mutating func note(_ batch: ChangesBatch) {
        rowCount += batch.count
        guard case .longpoll = feed, let last = batch.last?.sequence else { return }
        if lastRow == nil { body.extendDeadline(by: maxFeedTime) }
        lastRow = last
    }
}

/// Parses the answer of `_changes`: `{"results":[ROW,ROW,…],"last_seq":SEQ,…}`, or one row per line.
package struct ChangesParser {
    private enum Form {
        case answer(RowsParser<Change.Fields>)
        case lines(ChangeLinesParser)
    }

    private var form: Form
    /// The JSON text of the last row's sequence, or of the requested `since`. Empty if not known. Copied for each
    /// batch, so that it keeps its memory.
    private var reached: [UInt8]

    /// - Parameters:
    ///   - isContinuous: Whether the answer is one row per line.
    ///   - since: The requested `since`, which rows without a sequence need.
    package init(isContinuous: Bool = false, since: SequenceID? = nil) {
        reached = since?.json ?? []
        form = isContinuous ? .lines(ChangeLinesParser()) : .answer(RowsParser())
    }

    /// `last_seq`: where the next request continues. Nil until it has arrived. For a continuous feed, the sequence of
    /// the last row.
    var lastSequence: SequenceID? {
        switch form {
        case .answer(let parser): parser.keptValue.flatMap { SequenceID($0.root) }
        case .lines(let parser): parser.lastSequence
        }
    }

    /// Whether the answer is complete: the closing bracket has arrived, or a continuous feed is between two lines.
    var isComplete: Bool {
        switch form {
        case .answer(let parser): parser.isComplete
        case .lines(let parser): parser.isAtLineEnd
        }
    }

    /// Adds bytes as they arrive, in pieces of any size.
    package mutating func append(_ chunk: [UInt8]) {
        // The parser is moved out and back, so that its buffer has one owner and is not copied.
        switch form {
        case .answer(var parser):
            form = .lines(ChangeLinesParser())
            parser.append(chunk)
            form = .answer(parser)
        case .lines(var parser):
            form = .answer(RowsParser())
            parser.append(chunk)
            form = .lines(parser)
        }
    }

    /// All complete rows that have arrived since the last batch; nil if there are none.
    ///
    /// - Throws: `JSONError` if this is not an answer of `_changes`; its offset counts from the end of the last
    ///   batch. The parser can't be used afterwards.
    package mutating func nextBatch() throws(JSONError) -> ChangesBatch? {
        switch form {
        case .answer(var parser):
            form = .lines(ChangeLinesParser())
            let rows = try parser.nextBatch()
            form = .answer(parser)
            return note(rows.map { ChangesBatch($0, after: reachedSequence) })
        case .lines(var parser):
            form = .answer(RowsParser())
            let batch = try parser.nextBatch { reachedSequence }
            form = .lines(parser)
            return note(batch)
        }
    }

    private var reachedSequence: SequenceID? { reached.isEmpty ? nil : SequenceID(unchecked: reached) }

    private mutating func note(_ batch: ChangesBatch?) -> ChangesBatch? {
        if let sequence = batch?.lastSequenceRange, let bytes = batch?.gathered.text.bytes {
            reached.removeAll(keepingCapacity: true)
            bytes.withUnsafeBytes { reached.append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[sequence])) }
        }
        return batch
    }
}

/// Rows of a changes feed that arrived together, in order of arrival.
///
/// They share one block of bytes and one tape, so an unread row costs no allocation.
public final class ChangesBatch: Sendable {
    let gathered: GatheredRows<Change.Fields>
    /// The sequence before the first row, if that row has none; nil if it is not known.
    let preceding: SequenceID?

    init(_ gathered: GatheredRows<Change.Fields>, after preceding: @autoclosure () -> SequenceID? = nil) {
        self.gathered = gathered
        self.preceding = gathered.rows.first.map { $0.sequence < 0 } == true ? preceding() : nil
    }

    /// The range of the last known sequence in the bytes; nil if there is none.
    fileprivate var lastSequenceRange: Range<Int>? {
        guard let index = gathered.rows.last?.sequence, index >= 0 else { return nil }
        return JSONValue(text: gathered.text, index: Int(index)).range
    }
}

extension ChangesBatch: RandomAccessCollection {
    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of rows, at least 1.
    public var endIndex: Int { gathered.rows.count }
    /// The row at `position`, as a view that keeps the whole batch alive.
    public subscript(position: Int) -> Change { Change(batch: self, fields: gathered.rows[position]) }
}

extension Slice<ChangesBatch> {
    /// Length of these rows in the answer, in bytes.
    public var byteCount: Int { reduce(0) { $0 + $1.byteCount } }
}
