package import GatewayClient
internal import LosslessJSON

/// What identifies a database. None of it is certain: gateways have no unique name for a database.
package struct DatabaseFacts: Sendable, Equatable {
    /// The gateway's base URL, without credentials and keyspace.
    package var gateway: String
    /// `db` or `db.scope.collection`, as in the URL.
    package var keyspace: String
    /// From the server's root page if it can be read, otherwise as detected by the client.
    package var dialect: GatewayDialect
    /// The server's version; nil if its root page can't be read.
    package var version: String?
    /// CouchDB's `uuid`. Nil for Sync Gateway, where each node has a different one.
    package var serverIdentity: String?
    /// `instance_start_time`. Sync Gateway also changes it when the database goes offline.
    package var instance: String?
    /// CouchDB's `purge_seq` as text; nil if the server does not report it.
    package var purgeSequence: String?
    /// The newest sequence of the feed; nil if the gateway does not report it.
    package var newest: SequenceID?
    /// Sample of documents that a job has read there.
    var sample = DatabaseSample()

    /// - Parameter server: Nil if the server's root page can't be read.
    package init(_ gateway: Gateway, _ info: DatabaseInfo, _ server: ServerInfo?) {
        self.gateway = gateway.url.base
        keyspace = gateway.url.keyspace.pathSegment
        dialect = server?.dialect ?? gateway.dialect
        version = server?.version
        serverIdentity = dialect.hasServerIdentity ? server?.identity : nil
        instance = info.instance
        purgeSequence = info.purgeSequence
        newest = info.newestSequence
    }

    /// The facts recorded in a manifest; nil if it is not one.
    init?(_ manifest: JSONValue) {
        guard let gateway = manifest["gateway"]?.string, let keyspace = manifest["keyspace"]?.string,
            let dialect = manifest["server"]?["name"]?.string.flatMap(GatewayDialect.init(rawValue:))
        else { return nil }
        self.gateway = gateway
        self.keyspace = keyspace
        self.dialect = dialect
        version = manifest["server"]?["version"]?.string
        serverIdentity = manifest["server"]?["identity"]?.string
        instance = manifest["database"]?["instance"]?.string
        purgeSequence = manifest["database"]?["purge_sequence"]?.string
        newest = manifest["to_sequence"].flatMap(SequenceID.init)
        sample = DatabaseSample(manifest["database"])
    }

    func write(to writer: inout JSONWriter) {
        writer.name("server")
        writer.object { writer in
            writer.member("name", string: dialect.rawValue)
            writer.member("version", optional: version)
            writer.member("identity", optional: serverIdentity)
        }
        writer.member("gateway", string: gateway)
        writer.member("keyspace", string: keyspace)
        writer.name("database")
        writer.object { writer in
            writer.member("instance", optional: instance)
            writer.member("purge_sequence", optional: purgeSequence)
            sample.write(to: &writer)
        }
    }

    /// Why sequences of this database can't be used in the current one; nil if there is no sign of a problem.
    package func mismatch(with current: DatabaseFacts) -> DatabaseMismatch? {
        if let reason = difference(from: current) { return DatabaseMismatch(reason: reason) }
        guard let newest, let other = current.newest, other.hasPassed(newest) == false else { return nil }
        return DatabaseMismatch(
            reason:
                "the database was reset since then: its newest sequence, \(other.queryValue), is before \(newest.queryValue)",
            reached: dialect.keepsInstance ? nil : newest)
    }

    private func difference(from current: DatabaseFacts) -> String? {
        guard keyspace == current.keyspace else {
            return "it comes from the keyspace \(keyspace), not from \(current.keyspace)"
        }
        guard dialect == current.dialect else { return "it comes from another kind of server, \(dialect.rawValue)" }
        if let serverIdentity, let other = current.serverIdentity, serverIdentity != other {
            return "it comes from another server"
        }
        if dialect.keepsInstance, let instance, let other = current.instance, instance != other {
            return "the database was recreated since then"
        }
        return nil
    }

    /// Why the same connection seems to lead to a different database now; nil if there is no such sign.
    func mismatch(afterwards info: DatabaseInfo) -> DatabaseMismatch? {
        var now = self
        now.instance = info.instance
        // The shards of a CouchDB cluster count separately: a later answer may have a lower number.
        now.newest = dialect.keepsInstance ? nil : info.newestSequence
        return mismatch(with: now)
    }

    /// Whether both may be on one server: the same URL or the same instance. One of them may change when a database
    /// moves or is restarted.
    func mayBeOnSameServer(as other: DatabaseFacts) -> Bool {
        gateway.utf8.elementsEqual(other.gateway.utf8) || instance != nil && instance == other.instance
    }

    /// A warning about a possible reset, or about changes that the feed does not report; nil if there is none.
    package func warning(about current: DatabaseFacts) -> String? {
        // The part after the number can change without a purge.
        let purges = [self, current].map { $0.purgeSequence?.prefix { $0 != "-" } }
        if dialect.reportsPurges, purges[0] != purges[1] {
            return
                "documents were purged since then, which the feed does not report: only a full export leaves them out"
        }
        guard !dialect.keepsInstance, let instance, let other = current.instance, instance != other else { return nil }
        return "the database was offline or reset since then; the gateway does not report which"
    }
}
