internal import HTTPServing
package import Logging

extension EmbeddedGateway {
    /// The settings of an embedded gateway. Every default is written here.
    package struct Configuration: Sendable {
        /// The database's name, the last segment of the URL: a lowercase letter, then lowercase letters, digits and
        /// `_$()+-`. Default: `todo`.
        package var database: String
        /// Where the database is stored. Default: in memory.
        package var storage: Storage
        /// The address to listen on. Default: the loopback address, because without ``users`` anyone who can reach the
        /// port has full access.
        package var host: String
        /// The port to listen on. Default: 0, which picks a free one.
        package var port: Int
        /// The address for administrators, like Sync Gateway's port 4985. Anyone who can reach it has full access. Nil
        /// (default): none.
        package var administration: (host: String, port: Int)?
        /// The collections of the database as `SCOPE.COLLECTION`; ignored if ``users`` names collections. All share one
        /// sequence; channels are granted per collection. Default: `_default._default`.
        package var collections = ["_default._default"]
        /// Whether a document may have several branches that are not deleted. Default: false, as in Sync Gateway 4;
        /// version 3 can be configured to allow it.
        package var allowsConflicts = false
        /// The number of generations kept of a document's history. Default: 1000; at least 20.
        package var revisionsLimit = 1_000
        /// Who may use the database. Nil (default): no users, and GUEST may read and write all.
        package var users: Users?
        /// Injected faults, whose times count from the start. Nil (default): none.
        package var faults: FaultPlan?
        /// Whether each request is logged when it is answered, at the level `debug`. Default: false, for a program that logs
        /// its own requests.
        package var logsRequests = false
        /// Whether clients can create and delete further databases, which are in memory and whose changes are announced as
        /// CouchDB does. They have no users. Default: false.
        package var hostsFurtherDatabases = false
        /// Logs internal errors of the gateway, and the creation of a database file.
        package var logger: Logger

        /// The other settings are properties with defaults.
        package init(
            database: String = "todo", storage: Storage = .memory, host: String = "127.0.0.1", port: Int = 0,
            logger: Logger = Logger(label: "changebot.gateway")
        ) {
            self.database = database
            self.storage = storage
            self.host = host
            self.port = port
            self.logger = logger
        }
    }

    /// Where the database is stored.
    package enum Storage: Sendable, CustomStringConvertible {
        /// Lost when the gateway stops.
        case memory
        /// An SQLite file at this path, created if it is missing. While it is open, there are also `-wal` and `-shm`
        /// files, and a `-lock` file that prevents a second gateway from opening it.
        case file(String)

        /// For messages; contains the path.
        package var description: String {
            switch self {
            case .memory: "the database in memory"
            case .file(let path): "the database file \(path)"
            }
        }

        /// The path of the file, if it does not exist yet.
        var newFile: String? {
            guard case .file(let path) = self, !DatabaseFile(path: path).exists else { return nil }
            return path
        }
    }

    /// The address of a running gateway.
    package struct Address: Sendable {
        /// As configured: a name or an IP address, without brackets.
        package let host: String
        /// The port that was bound, never 0.
        package let port: Int
        /// The database's name.
        package let database: String
        /// The administrative address, if there is one.
        package let administration: (host: String, port: Int)?

        /// For example `http://127.0.0.1:4985/todo`. Nil without an administrative address.
        package var administrationURL: String? {
            administration.map { "http://\(HostAndPort.text($0.host, $0.port))/\(database)" }
        }

        /// For example `http://127.0.0.1:4984/todo`. An IPv6 host is in brackets.
        package var url: String {
            "http://\(HostAndPort.text(host, port))/\(database)"
        }
    }
}

/// Why the gateway did not start.
package struct EmbeddedGatewayError: Error, CustomStringConvertible {
    /// The reason why the gateway did not start.
    package struct Code: Equatable, Sendable {
        private let name: String

        /// Sync Gateway would refuse the name of the database or of a collection.
        package static let invalidName = Code(name: "invalidName")
        /// The file can't be created, read or written.
        package static let cannotOpenFile = Code(name: "cannotOpenFile")
        /// The file is not a gateway's database. It was not changed.
        package static let foreignFile = Code(name: "foreignFile")
        /// Another gateway has the file open.
        package static let fileInUse = Code(name: "fileInUse")
        /// The port is in use or not permitted, or the host is not an address of this machine.
        package static let cannotListen = Code(name: "cannotListen")
    }

    /// For decisions; ``description`` is for people.
    package let code: Code
    /// Contains the path or address, but no credentials or documents.
    package let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
