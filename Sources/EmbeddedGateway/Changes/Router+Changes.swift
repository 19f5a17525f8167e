internal import HTTPServing

extension Router {
    /// `/DB/_changes`.
    func changes(_ request: Request) async throws -> Answer {
        let asked = try FeedRequest(request, visitor)
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
                    var feed = ContinuousFeed(store, accounts, asked, send)
                    try await feed.run()
                })
        }
    }

    /// Answers below this size are sent whole with `Content-Length`, as the real gateway does.
    private static let wholeLimit = 2_048

    /// Everything up to the last sequence at the time of the request, so that it never chases writers.
    private func normalFeed(_ asked: FeedRequest) async throws -> Answer {
        let end = try store.lastSequence()
        var reader = FeedPages(
            store, asked, since: asked.since, through: end, limit: asked.limit, separator: ",")
        let first = try reader.next()
        let fields = [HTTPField.neverCached, .json]
        if reader.isDone, first.text.count < Self.wholeLimit {
            return Answer(
                status: 200, fields: fields,
                body: .whole(ChangesArray.opening + first.text + ChangesArray.closing(first, reader, asked)))
        }
        return Answer(
            status: 200, fields: fields,
            body: .streamed { [reader] send in
                try await send(ChangesArray.opening)
                try await sendPages(first, reader, asked, send)
            })
    }

    /// Sends the head and the beginning at once, then waits for the first change.
    private func longpoll(_ asked: FeedRequest, _ send: @escaping Answer.Send) async throws {
        var asked = asked
        let wait = FeedWait(asked, store.signal)
        var looked = asked.since
        try await send(ChangesArray.opening)
        while true {
            let end = store.signal.lastSequence
            asked.selection.visitor = accounts.refreshed(asked.selection.visitor)
            var reader = FeedPages(store, asked, since: looked, through: end, limit: asked.limit, separator: ",")
            let page = try reader.next()
            if page.count > 0 { return try await sendPages(page, reader, asked, send) }
            looked = max(looked, FeedPosition(end))
            let isDue = try await wait.forChange(past: looked.plainSequence) {
                try await send([UInt8(ascii: "\n")])
            }
            guard isDue else { return try await send(ChangesArray.closing(page, reader, asked)) }
        }
    }

    /// Sends the remaining rows and the closing of the array.
    private func sendPages(
        _ first: ChangesPage, _ reader: FeedPages, _ asked: FeedRequest, _ send: Answer.Send
    ) async throws {
        var reader = reader
        var page = first
        try await send(page.text)
        while !reader.isDone {
            page = try reader.next()
            try await send(page.text)
        }
        try await send(ChangesArray.closing(page, reader, asked))
    }
}

/// The JSON around the rows of normal and longpoll feeds.
enum ChangesArray {
    static let opening = Array("{\"results\":[\r\n".utf8)

    /// - Note: Source: recorded; without rows, `last_seq` is the `since` of the request.
    static func closing(_ last: ChangesPage, _ reader: FeedPages, _ asked: FeedRequest) -> [UInt8] {
        Array("],\n\"last_seq\":\"\(reader.count == 0 ? asked.sinceText : last.last.text)\"}\n".utf8)
    }
}
