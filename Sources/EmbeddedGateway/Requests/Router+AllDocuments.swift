internal import HTTPServing
internal import LosslessJSON

extension Router {
    /// `/DB/_all_docs`.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1. `total_rows` counts the rows of the answer.
    func allDocuments(_ request: Request) async throws -> Answer {
        let query = request.query
        var range = DocumentRange(includesDocuments: query.flag("include_docs"), requestUser: requestUser)
        range.includesChannels = query.flag("channels")
        range.includesSequences = query.flag("update_seq")
        range.start = query["startkey"].map(Self.unquoted)
        range.end = query["endkey"].map(Self.unquoted)
        let limit = query["limit"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
        switch request.method {
        case "GET", "HEAD":
            guard let keys = query["keys"] else { return streamed(range, limit) }
            guard let list = try? JSONText(keys).root, list.kind == .array else {
                throw RequestError(400, "Bad keys")
            }
            return streamed(try Self.ids(list), range, limit)
        case "POST":
            guard let keys = try request.object()["keys"] else { throw RequestError(400, "Bad/missing keys") }
            return streamed(try Self.ids(keys), range, limit)
        default: throw RequestError.methodNotAllowed("GET, HEAD, POST")
        }
    }

    private func streamed(_ range: DocumentRange, _ limit: Int?) -> Answer {
        rows { send in
            var count = 0
            var after: String?
            while true {
                let page = try store.documents(range, after: after, limit: limit.map { $0 - count })
                try await send(page.text)
                count += page.count
                after = page.lastID ?? after
                if page.isLast || count == limit { return count }
            }
        }
    }

    private func streamed(_ ids: [String], _ range: DocumentRange, _ limit: Int?) -> Answer {
        rows { send in
            let ids = ids.prefix(limit ?? .max)
            var start = 0
            while start < ids.count {
                let part = ids[start..<min(start + 100, ids.count)]
                let page = try store.documents(part, range, isFirst: start == 0)
                try await send(page.text)
                start += page.count
            }
            return ids.count
        }
    }

    /// - Parameter write: Sends the rows and returns their number.
    private func rows(_ write: @escaping @Sendable (@escaping Answer.Send) async throws -> Int) -> Answer {
        Answer(
            status: 200, fields: [.json],
            body: .streamed { send in
                try await send(Array("{\"rows\":[\n".utf8))
                let count = try await write(send)
                let sequence = try store.lastSequence()
                try await send(Array("],\n\"total_rows\":\(count),\"update_seq\":\(sequence)}".utf8))
            })
    }

    private static func ids(_ list: JSONValue) throws(RequestError) -> [String] {
        guard list.kind == .array else { throw RequestError(400, "Bad/missing keys") }
        var ids: [String] = []
        for element in list.elements {
            guard let id = element.string else { throw RequestError(400, "Bad/missing keys") }
            ids.append(id)
        }
        return ids
    }

    /// Keys are JSON strings, but the quotes may be missing.
    private static func unquoted(_ text: String) -> String {
        guard text.hasPrefix("\"") else { return text }
        return (try? JSONText(text).root.string) ?? text
    }
}
