internal import HTTPServing

extension Router {
    /// `/DB/_changes`.
    func changes(_ request: Request) async throws -> Answer {
        let parameters = try FeedRequest(request, requestUser)
        switch parameters.feed {
        case .normal: return try await normalFeed(parameters)
        case .longpoll:
            return Answer(
                status: 200, fields: [.neverCached, .json],
                body: .streamed { send in try await longpoll(parameters, send) })
        case .continuous:
            return Answer(
                status: 200, fields: [.neverCached, HTTPField("Content-Type", "application/octet-stream")],
                body: .streamed { send in
                    var feed = ContinuousFeed(store, accounts, parameters, send)
                    try await feed.run()
                })
        }
    }

    /// Answers below this size are sent whole with `Content-Length`, as the real gateway does.
    private static let unstreamedLimit = 2_048

    /// Everything up to the last sequence at the time of the request, so that it never chases writers.
    private func normalFeed(_ parameters: FeedRequest) async throws -> Answer {
        let end = try store.lastSequence()
        var reader = FeedPages(
            store, parameters, since: parameters.since, through: end, limit: parameters.limit, separator: ",")
        let first = try reader.next()
        let fields = [HTTPField.neverCached, .json]
        if reader.isDone, first.text.count < Self.unstreamedLimit {
            return Answer(
                status: 200, fields: fields,
                body: .whole(ChangesArray.opening + first.text + ChangesArray.closing(first, reader, parameters)))
        }
        return Answer(
            status: 200, fields: fields,
            body: .streamed { [reader] send in
                try await send(ChangesArray.opening)
                try await sendPages(first, reader, parameters, send)
            })
    }

    /// Sends the head and the beginning at once, then waits for the first change.
    private func longpoll(_ parameters: FeedRequest, _ send: @escaping Answer.Send) async throws {
        var parameters = parameters
        let wait = FeedWait(parameters, store.signal)
        var checkedPosition = parameters.since
        try await send(ChangesArray.opening)
        while true {
            let end = store.signal.lastSequence
            parameters.selection.requestUser = accounts.refreshed(parameters.selection.requestUser)
            var reader = FeedPages(
                store, parameters, since: checkedPosition, through: end, limit: parameters.limit, separator: ",")
            let page = try reader.next()
            if page.count > 0 { return try await sendPages(page, reader, parameters, send) }
            checkedPosition = max(checkedPosition, FeedPosition(end))
            let isDue = try await wait.forChange(past: checkedPosition.plainSequence) {
                try await send([UInt8(ascii: "\n")])
            }
            guard isDue else { return try await send(ChangesArray.closing(page, reader, parameters)) }
        }
    }

    /// Sends the remaining rows and the closing of the array.
    private func sendPages(
        _ first: ChangesPage, _ reader: FeedPages, _ parameters: FeedRequest, _ send: Answer.Send
    ) async throws {
        var reader = reader
        var page = first
        try await send(page.text)
        while !reader.isDone {
            page = try reader.next()
            try await send(page.text)
        }
        try await send(ChangesArray.closing(page, reader, parameters))
    }
}

/// The JSON around the rows of normal and longpoll feeds.
enum ChangesArray {
    static let opening = Array("{\"results\":[\r\n".utf8)

    /// - Note: Source: recorded; without rows, `last_seq` is the `since` of the request.
    static func closing(_ last: ChangesPage, _ reader: FeedPages, _ parameters: FeedRequest) -> [UInt8] {
        Array("],\n\"last_seq\":\"\(reader.count == 0 ? parameters.sinceText : last.last.text)\"}\n".utf8)
    }
}
