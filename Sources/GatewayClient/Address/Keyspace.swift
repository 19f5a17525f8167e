/// A database, or a collection in it: `db`, `db.collection` or `db.scope.collection`.
///
/// - Note: Source: Sync Gateway 3.1 and later, "keyspace" path parameter. CouchDB knows databases only.
public struct Keyspace: Hashable, Sendable, CustomStringConvertible {
    /// As it stands in the path of requests, percent-encoding included.
    public let pathSegment: String
    /// The part that names the database: what `GET /DATABASE/` and sessions are about.
    public let database: String

    public init(_ pathSegment: String) throws(GatewayURLFault) {
        let parts = pathSegment.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...3).contains(parts.count), parts.allSatisfy({ !$0.isEmpty }), !pathSegment.hasPrefix("_") else {
            throw .init("'\(pathSegment)' is not a keyspace: write DATABASE, or DATABASE.SCOPE.COLLECTION")
        }
        self.pathSegment = pathSegment
        database = String(parts[0])
    }

    public var description: String { pathSegment }
}
