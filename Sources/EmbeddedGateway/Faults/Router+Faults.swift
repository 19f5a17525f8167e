internal import HTTPServing

extension Router {
    /// Answers a request with the faults that are due for it.
    ///
    /// Faults that prevent the request come first, in the order of the plan; then faults of the rows; finally, faults
    /// of the bytes sent.
    ///
    /// - Throws: `CancellationError` if the client disconnects during a delay.
    func answer(_ request: Request, _ path: [String], in dueFaults: DueFaults) async throws -> Answer {
        for delay in dueFaults.delays { try await Task.sleep(for: delay) }
        for fault in dueFaults.due { try await changeDatabase(fault.action) }
        var answer: Answer
        if let injected = try refusal(of: request, path, in: dueFaults) {
            answer = injected
        } else {
            var router = self
            router.refusedDocuments = dueFaults.refusedDocuments
            let request = try dueFaults.rewind.map { try rewound(request.decompressed(), by: $0) } ?? request
            answer = await router.recovered(request) { try await router.carriedOut(request, path) }
            if RequestKind(path) == .changes { dueFaults.applyRowFaults(of: &answer) }
        }
        return dueFaults.withFaults(answer.compressed(for: request))
    }

    /// Resets the database or takes it offline, if the action requires it. This ends open feeds.
    func changeDatabase(_ action: FaultAction) async throws {
        switch action {
        case .reset: try await resetDatabase()
        case .offline(let time):
            faults.goOffline(for: time)
            store.signal.endFeeds()
        default: break
        }
    }

    /// The answer if the request must not be carried out. Otherwise nil.
    private func refusal(of request: Request, _ path: [String], in dueFaults: DueFaults) throws -> Answer? {
        if faults.isOffline {
            // Only information about the database is still available.
            guard RequestKind(path) == .database, ["GET", "HEAD"].contains(request.method) else {
                return Answer(RequestError(503, "DB is currently under maintenance"))
            }
            return databaseInformation(sequence: 0, state: "Offline")
        }
        for fault in dueFaults.due {
            switch fault.action {
            case .status(let status): return status.answer
            case .sessionExpired: return expireSession(of: request)
            case .hang: return Answer.withheld(untilClientLeaves: true)
            case .dropBefore: return Answer.withheld()
            case .heartbeatsOnly(let pause): return try heartbeats(request, every: pause)
            default: break
            }
        }
        return nil
    }

    private func expireSession(of request: Request) -> Answer {
        guard let id = request.cookie(Sessions.cookieName) else {
            return Answer(RequestError(401, "Invalid login", headers: [.basicRealm]))
        }
        accounts.sessions.end(id)
        return Answer(RequestError(401, "Session Invalid"))
    }

    private func heartbeats(_ request: Request, every pause: Duration) throws -> Answer {
        let isContinuous = try FeedRequest(request.decompressed(), requestUser).feed == .continuous
        return Answer(
            status: 200,
            fields: [.neverCached, isContinuous ? HTTPField("Content-Type", "application/octet-stream") : .json],
            body: .streamed { send in
                if !isContinuous { try await send(ChangesArray.opening) }
                while true {
                    try await send([UInt8(ascii: "\n")])
                    try await Task.sleep(for: pause)
                }
            })
    }

    /// The same request with an earlier `since`, first in the query because the first one counts.
    private func rewound(_ request: Request, by count: Int) throws -> Request {
        let since = try FeedRequest(request, requestUser).since.plainSequence
        let parts = request.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let query = "since=\(max(0, since - count))" + (parts.count > 1 ? "&\(parts[1])" : "")
        return Request(request.method, "\(parts[0])?\(query)", fields: request.fields, body: request.body)
    }
}

extension StatusFault {
    fileprivate var answer: Answer {
        var answer = Answer(RequestError(code, "this answer was injected"))
        if let body {
            answer = Answer(
                status: code, fields: [HTTPField("Content-Type", contentType)], body: .whole(Array(body.utf8)))
        }
        if let retryAfter { answer.fields.append(HTTPField("Retry-After", String(retryAfter))) }
        return answer
    }
}

extension Answer {
    /// No answer: the connection ends at once, or when the client disconnects.
    static func withheld(untilClientLeaves: Bool = false) -> Answer {
        Answer(
            status: 200,
            body: .withheld {
                while untilClientLeaves { try await Task.sleep(for: .seconds(3_600)) }
            })
    }
}
