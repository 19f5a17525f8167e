internal import HTTPTransport
internal import LosslessJSON

/// One page of a `_find` result.
public struct FoundDocuments: Sendable {
    /// In the order of the index that was used.
    public let ids: [DocumentID]
    /// Where the next page begins; nil if the gateway gives no bookmark.
    public let bookmark: String?
    /// The gateway's warning about the query, such as a missing index.
    public let warning: String?
}

/// The index that a query would use.
public struct QueryIndex: Sendable, Equatable {
    /// Its name; `_all_docs` if every document is read.
    public let name: String
    /// The fields of its sort order.
    public let fields: [String]

    /// Whether it reads all documents, as a query without an index does.
    public var isEveryDocument: Bool { name == "_all_docs" }
}

// Queries by Mango selectors, which CouchDB answers itself.
extension Gateway {
    /// How long a query may take without a result: without an index, the server reads all documents meanwhile.
    private static let querySilence: Duration = .seconds(300)

    /// Finds live documents by a Mango selector, in the state that the database has when the request arrives.
    ///
    /// - Parameters:
    ///   - selector: As JSON.
    ///   - limit: The maximum number of documents per page.
    ///   - bookmark: The previous page's bookmark; nil for the first page.
    /// - Throws: `.badRequest` if the server does not accept the selector, `.notFound` or `.forbidden` if the server or
    ///   a proxy does not offer queries, `.timedOut` if there is no result for too long; others as for every request.
    /// - Note: Source: `POST /{db}/_find`, CouchDB only.
    public func find(
        _ selector: [UInt8], limit: Int, bookmark: String? = nil
    ) async throws(GatewayError) -> FoundDocuments {
        var body = JSONWriter()
        body.object { body in
            body.member("selector", raw: selector)
            body.name("fields")
            body.array { $0.string("_id") }
            body.member("limit", integer: Swift.max(1, limit))
            if let bookmark { body.member("bookmark", string: bookmark) }
        }
        let bytes = try await query("_find", body.bytes, limit: (1 << 20) + limit * 4096)
        guard let answer = try? JSONText(bytes), let documents = answer.root["docs"], documents.kind == .array else {
            throw .notJSON(bytes, from: url)
        }
        return FoundDocuments(
            ids: documents.elements.compactMap { $0["_id"]?.string.map { DocumentID($0) } },
            bookmark: answer.root["bookmark"]?.string, warning: answer.root["warning"]?.string)
    }

    /// The index that the server would use for a selector.
    ///
    /// - Throws: The same errors as ``find(_:limit:bookmark:)``.
    /// - Note: Source: `POST /{db}/_explain`, CouchDB only.
    public func indexForQuery(_ selector: [UInt8]) async throws(GatewayError) -> QueryIndex {
        var body = JSONWriter()
        body.object { $0.member("selector", raw: selector) }
        let bytes = try await query("_explain", body.bytes, limit: 4 << 20)
        guard let index = SmallJSON(bytes)?["index"], let name = index["name"]?.string else {
            throw .notJSON(bytes, from: url)
        }
        let fields = (index["def"]?["fields"]?.elements ?? []).compactMap { field -> String? in
            if case .object(let names) = field { names.keys.first } else { field.string }
        }
        return QueryIndex(name: name, fields: fields)
    }

    /// Creates an index for queries, unless the database has the same one. The server builds it at the next query.
    ///
    /// - Parameters:
    ///   - fields: The fields of its sort order, named as in selectors.
    ///   - isPartitioned: Whether the database is partitioned. The index then covers queries of all partitions.
    /// - Throws: `.unauthorized` or `.forbidden` if this user is not an administrator of the database; others as for
    ///   every request.
    /// - Note: Source: `POST /{db}/_index`, CouchDB only.
    public func makeIndex(
        named name: String, fields: [String], isPartitioned: Bool = false
    ) async throws(GatewayError) {
        var body = JSONWriter()
        body.object { body in
            body.name("index")
            body.object { body in
                body.name("fields")
                body.array { body in for field in fields { body.string(field) } }
            }
            body.member("name", string: name)
            body.member("type", string: "json")
            // In a partitioned database, an index covers only queries of one partition by default.
            if isPartitioned { body.member("partitioned", bool: false) }
        }
        _ = try await query("_index", body.bytes, limit: 1 << 20)
    }

    private func query(_ path: String, _ body: [UInt8], limit: Int) async throws(GatewayError) -> [UInt8] {
        let request = GatewayRequest(
            method: "POST", place: .keyspace(path), body: .json(body), deadline: settings.deadlines.stream,
            silence: Swift.max(settings.deadlines.silence, Self.querySilence))
        return try await collect(request, limit: limit)
    }
}
