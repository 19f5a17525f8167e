extension Router {
    /// `/DB/_changes`.
    func changes(_ request: Request) async throws -> Answer {
        let asked = try ChangesRequest(request)
        switch asked.feed {
        case .normal: return try await normalFeed(asked)
        case .longpoll:
            return Answer(
                status: 200, fields: [.neverCached, .json],
                body: .streamed { send in try await longpoll(asked, send) })
        case .continuous:
            return Answer(
                status: 200, fields: [.neverCached, HTTPField("Content-Type", "application/octet-stream")],
                body: .streamed { send in
                    var feed = ContinuousFeed(store, asked, send)
                    try await feed.run()
                })
        }
    }

    /// Largest answer that is sent whole, with its length, as the real gateway does.
    private static let wholeLimit = 2_048

    /// Everything up to the sequence that was the last when the request came: it never chases writers.
    private func normalFeed(_ asked: ChangesRequest) async throws -> Answer {
        let end = try await store.lastSequence()
        let first = try await store.changes(
            since: asked.since.sequence, through: end, limit: asked.limit, asked.selection, separator: ",",
            isFirst: true)
        let fields = [HTTPField.neverCached, .json]
        if first.isLast || first.count == asked.limit, first.text.count < Self.wholeLimit {
            return Answer(
                status: 200, fields: fields,
                body: .whole(ChangesArray.opening + first.text + ChangesArray.closing(first, asked.since)))
        }
        return Answer(
            status: 200, fields: fields,
            body: .streamed { send in
                try await send(ChangesArray.opening + first.text)
                let last = try await sendPages(after: first, through: end, asked, send)
                try await send(ChangesArray.closing(last, asked.since))
            })
    }

    /// Sends headers and the beginning at once, then waits for the first change.
    private func longpoll(_ asked: ChangesRequest, _ send: @escaping Answer.Send) async throws {
        let wait = FeedWait(asked)
        var looked = asked.since.sequence
        try await send(ChangesArray.opening)
        while true {
            let end = store.signal.lastSequence
            let page = try await store.changes(
                since: looked, through: end, limit: asked.limit, asked.selection, separator: ",", isFirst: true)
            if page.count > 0 {
                try await send(page.text)
                let last = try await sendPages(after: page, through: end, asked, send)
                return try await send(ChangesArray.closing(last, asked.since))
            }
            looked = max(looked, end)
            guard try await wait.forChange(past: looked, store.signal, { try await send([UInt8(ascii: "\n")]) }) else {
                return try await send(ChangesArray.closing(page, asked.since))
            }
        }
    }

    /// - Returns: The last page; the count is that of all.
    private func sendPages(
        after first: ChangesPage, through end: Int, _ asked: ChangesRequest, _ send: Answer.Send
    ) async throws -> ChangesPage {
        var page = first
        var count = first.count
        while !page.isLast, count != asked.limit {
            page = try await store.changes(
                since: page.lastSequence, through: end, limit: asked.limit.map { $0 - count }, asked.selection,
                separator: ",", isFirst: false)
            try await send(page.text)
            count += page.count
        }
        page.count = count
        return page
    }
}

/// What stands around the rows of the feeds that are one JSON object.
private enum ChangesArray {
    static let opening = Array("{\"results\":[\r\n".utf8)

    /// - Note: Source: recorded; with no rows the answer gives back what the client sent.
    static func closing(_ last: ChangesPage, _ since: FeedPosition) -> [UInt8] {
        let sequence = last.count == 0 ? since.text : String(last.lastSequence)
        return Array("],\n\"last_seq\":\"\(sequence)\"}\n".utf8)
    }
}
