internal import LosslessJSON

/// The collections of a Sync Gateway database, which share one sequence.
struct CollectionDirectory: DatabaseDirectory {
    private let database: Gateway
    private let patterns: DatabasePatterns

    /// - Parameter database: The keyspace of the database alone.
    init(_ database: Gateway, _ patterns: DatabasePatterns) { (self.database, self.patterns) = (database, patterns) }

    var what: String { "collections" }
    var expectsAnnouncements: Bool { false }

    func names() async throws(GatewayError) -> [String] {
        do throws(GatewayError) { return try await database.collectionNames() } catch {
            guard error.isRefusalOfUser || error.isRefusalOfRequest, let names = patterns.literalNames else {
                throw error.namingRemedy(
                    "collections are listed on the admin port of Sync Gateway: use its URL, or name each collection instead of a pattern"
                )
            }
            return names
        }
    }

    /// The sequence of the database grows with each change of any collection.
    func infos(of names: [String]) async throws(GatewayError) -> [String: DatabaseInfo] {
        let info = try await database.databaseInfo()
        return Dictionary(names.map { ($0, info) }) { first, _ in first }
    }

    func updates(since: SequenceID?) async throws(GatewayError) -> DatabaseUpdates {
        throw GatewayError(.notOffered, "Sync Gateway announces no changes of collections")
    }

    func gateway(_ name: String) throws(GatewayURLError) -> Gateway {
        database.sibling(try KeyspaceName("\(database.url.keyspace.database).\(name)"))
    }
}

extension Gateway {
    /// The collections of the database, as `SCOPE.COLLECTION`, sorted. A database without named collections has
    /// `_default._default`.
    ///
    /// - Throws: `.notFound` or `.unauthorized` on Sync Gateway's public port, and on CouchDB.
    /// - Note: Source: `GET /{db}/_config` of Sync Gateway's admin port, 3.1 and later.
    fileprivate func collectionNames() async throws(GatewayError) -> [String] {
        let body = try await collect(
            GatewayRequest(place: .database("_config"), deadline: settings.deadlines.small), limit: 16 << 20)
        guard let answer = SmallJSON(body), case .object(let members) = answer else { throw .notJSON(body, from: url) }
        guard case .object(let scopes)? = members["scopes"] else { return ["_default._default"] }
        return scopes.flatMap { scope, content -> [String] in
            guard case .object(let collections)? = content["collections"] else { return [] }
            return collections.keys.map { "\(scope).\($0)" }
        }.sorted()
    }
}
