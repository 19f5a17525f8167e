internal import HTTPTransport
internal import LosslessJSON

/// The answer to one `_changes` request, read as it arrives.
///
/// While nobody asks for the next batch the transfer is paused, so that memory holds one batch and a read-ahead of
/// 256 KiB whatever the length of the answer. Dropping it unread, or cancelling the reading task, closes the connection.
public struct ChangesAnswer {
    private let body: HTTPBody
    private let url: GatewayURL
    private let isContinuous: Bool
    private var parser: ChangesParser

    init(body: HTTPBody, url: GatewayURL, isContinuous: Bool) {
        self.body = body
        self.url = url
        self.isContinuous = isContinuous
        parser = ChangesParser(isContinuous: isContinuous)
    }

    /// `last_seq`: where the next request goes on. Nil until ``next()`` has returned nil; of a continuous feed, where it
    /// stands behind the last batch, nil as long as nothing came.
    public var lastSequence: SequenceID? { parser.lastSequence }

    /// The next rows, as many as have arrived; nil once the answer has come to its proper end.
    ///
    /// - Throws: `.connectionLost` if the answer is cut short: rows handed out before are good, ask again from the last
    ///   of them. `.malformedAnswer` if this is no answer of `_changes`.
    public mutating func next() async throws(GatewayError) -> ChangesBatch? {
        while true {
            do throws(JSONFault) {
                if let batch = try parser.nextBatch() { return batch }
            } catch {
                throw GatewayError(.malformedAnswer, "\(url): _changes answers with what is not a feed: \(error)")
            }
            let chunk: [UInt8]?
            do throws(HTTPTransportError) { chunk = try await body.next() } catch {
                // The time of a continuous feed is up: whole rows have been handed out, the rest comes next time.
                if isContinuous, error.code == .timedOut(.exchange) { return nil }
                throw GatewayError(error)
            }
            guard let chunk else {
                guard parser.isComplete else {
                    throw GatewayError(.connectionLost, "\(url): the answer of _changes is cut short")
                }
                return nil
            }
            parser.append(chunk)
        }
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
        case .normal: exchange.silence = settings.deadlines.silence
        case .longpoll(let timeout): exchange.silence = timeout + settings.deadlines.longpollGrace
        case .continuous(let duration):
            exchange.deadline = min(duration, ChangesRequest.longestContinuousFeed)
            exchange.silence = ChangesRequest.heartbeat * 2 + settings.deadlines.longpollGrace
        }
        var isContinuous: Bool { if case .continuous = request.feed { true } else { false } }
        return ChangesAnswer(body: try await open(exchange).body, url: url, isContinuous: isContinuous)
    }
}
