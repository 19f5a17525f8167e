internal import HTTPServing
package import Logging

extension EmbeddedGateway {
    /// The settings of an embedded gateway. Every default is written here.
    package struct Configuration: Sendable {
        /// The database's name, the last segment of the URL: a lowercase letter, then lowercase letters, digits and
        /// `_$()+-`. Default: `todo`.
        package var database: String
        /// Where the database is kept. Default: in memory.
        package var storage: Storage
        /// The address to listen on. Default: the loopback, because without ``users`` anybody who reaches the port may
        /// do all.
        package var host: String
        /// The port to listen on. Default: 0, which picks a free one.
        package var port: Int
        /// The address for administrators, as Sync Gateway's port 4985: whoever reaches it may do all. Nil (default): none.
        package var administration: (host: String, port: Int)?
        /// The collections of the database as `SCOPE.COLLECTION`; ignored if ``users`` names collections. All share one
        /// sequence; channels are granted per collection. Default: `_default._default`.
        package var collections = ["_default._default"]
        /// Whether a document may have several branches that are not deleted. Default: false, as in Sync Gateway 4;
        /// version 3 can be configured to allow it.
        package var allowsConflicts = false
        /// How many generations of a document's history are kept. Default: 1000; at least 20.
        package var revisionsLimit = 1_000
        /// Who may use the database. Nil (default): no users, and GUEST may read and write all.
        package var users: Users?
        /// Injected faults, whose times count from the start. Nil (default): none.
        package var faults: FaultPlan?
        /// Whether each request is logged when it is answered, at the level `debug`. Default: false, for a program that logs
        /// its own requests.
        package var logsRequests = false
        /// Logs errors of the gateway itself, and that a database file was made.
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

    /// Where the database is kept.
    package enum Storage: Sendable, CustomStringConvertible {
        /// Gone when the gateway stops.
        case memory
        /// An SQLite file at this path; made if it is missing. While it is open, `-wal` and `-shm` files are beside it,
        /// and `-lock`, which keeps out a second gateway.
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

        /// For example `http://127.0.0.1:4985/todo`; nil without an administrative address.
        package var administrationURL: String? {
            administration.map { "http://\(HostAndPort.text($0.host, $0.port))/\(database)" }
        }

        /// For example `http://127.0.0.1:4984/todo`; an IPv6 host is in brackets.
        package var url: String {
            "http://\(HostAndPort.text(host, port))/\(database)"
        }
    }
}

/// Why the gateway did not start.
package struct EmbeddedGatewayError: Error, CustomStringConvertible {
    /// What kept the gateway from starting.
    package struct Code: Equatable, Sendable {
        private let name: String

        /// The name of the database or of a collection is one that Sync Gateway would refuse.
        package static let invalidName = Code(name: "invalidName")
        /// The file can't be made, read or written.
        package static let cannotOpenFile = Code(name: "cannotOpenFile")
        /// The file is not a gateway's database; it was not changed.
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
