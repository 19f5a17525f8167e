package import GatewayClient
internal import LosslessJSON

/// By what a database is known again. No fact tells for sure: a gateway has no name for its databases.
package struct DatabaseFacts: Sendable, Equatable {
    /// As it stands in the URL, without credentials.
    package var gateway: String
    package var keyspace: String
    package var dialect: GatewayDialect
    package var version: String?
    /// CouchDB's `uuid`. Sync Gateway's nodes have one each: it tells nothing there.
    package var serverIdentity: String?
    /// `instance_start_time`. On Sync Gateway another one also after the database was offline.
    package var instance: String?
    package var purgeSequence: String?
    /// The newest sequence of the feed; nil if the gateway does not tell it.
    package var newest: SequenceID?

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

    /// What a manifest recorded. Nil if it is none.
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
        }
    }

    /// Why sequences of the database that was can't be gone on from in the one that is; nil if nothing speaks against it.
    package func objection(against current: DatabaseFacts) -> String? {
        guard keyspace == current.keyspace else {
            return "it is of the keyspace \(keyspace), not of \(current.keyspace)"
        }
        guard dialect == current.dialect else { return "it is of another kind of server, \(dialect.rawValue)" }
        if let serverIdentity, let other = current.serverIdentity, serverIdentity != other {
            return "it is of another server"
        }
        if dialect.keepsInstance, let instance, let other = current.instance, instance != other {
            return "the database was made anew since then"
        }
        if let newest, let other = current.newest, other.hasPassed(newest) == false {
            return
                "the database was reset since then: its newest sequence, \(other.queryValue), is before \(newest.queryValue)"
        }
        return nil
    }

    /// Whether both may be of one server: databases move, and start anew; both at once is another one.
    func isOfSameServer(as other: DatabaseFacts) -> Bool {
        gateway.utf8.elementsEqual(other.gateway.utf8) || instance != nil && instance == other.instance
    }

    /// What can't be told apart from a reset, or what changes don't tell of; nil if there is nothing.
    package func doubt(about current: DatabaseFacts) -> String? {
        // Behind the number other things change too.
        let purges = [self, current].map { $0.purgeSequence?.prefix { $0 != "-" } }
        if dialect.tellsOfPurges, purges[0] != purges[1] {
            return "documents were purged since then, which no change tells of: a full export has them no more"
        }
        guard !dialect.keepsInstance, let instance, let other = current.instance, instance != other else { return nil }
        return "the database was offline, or reset, since then; which of the two, the gateway does not tell"
    }
}
