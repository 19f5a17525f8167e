/// A database, or a collection in it: `db`, `db.collection` or `db.scope.collection`.
///
/// - Note: Source: Sync Gateway 3.1 and later, "keyspace" path parameter. CouchDB has only databases.
public struct KeyspaceName: Hashable, Sendable, CustomStringConvertible {
    /// As in the path of requests, percent-encoded.
    public let pathSegment: String
    /// The part that names the database, the subject of `GET /{db}/` and of Sync Gateway's sessions.
    public let database: String

    /// Takes a percent-encoded path segment: one to three non-empty parts with "." between them, the first not
    /// beginning with "_".
    ///
    /// - Throws: ``GatewayURLError`` for anything else.
    public init(_ pathSegment: String) throws(GatewayURLError) {
        let parts = pathSegment.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...3).contains(parts.count), parts.allSatisfy({ !$0.isEmpty }), !pathSegment.hasPrefix("_"),
            pathSegment.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && !"/?#\\".utf8.contains($0) })
        else {
            throw .init("'\(pathSegment)' is not a keyspace: write DATABASE, or DATABASE.SCOPE.COLLECTION")
        }
        self.pathSegment = pathSegment
        database = String(parts[0])
    }

    /// As ``pathSegment``: percent-encoded.
    public var description: String { pathSegment }
}

extension KeyspaceName {
    /// The path segment for a name as the server lists it: CouchDB's names may contain slashes.
    package static func pathSegment(of name: String) -> String { name.percentEncoded }

    /// The name whose segment of a path this is. Nil if it is not valid.
    package static func name(ofPathSegment segment: String) -> String? { segment.percentDecoded }

    /// Whether it names a collection other than the default one.
    package var isNamedCollection: Bool {
        let collection = pathSegment.split(separator: ".").dropFirst()
        return !collection.isEmpty && collection.contains { $0 != "_default" }
    }
}
