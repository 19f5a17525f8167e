package import Logging

extension EmbeddedGateway {
    package struct Configuration: Sendable {
        /// The database's name, the last segment of the URL: a lowercase letter, then those, digits and `_$()+-`.
        /// Default `todo`.
        package var database: String
        package var storage: Storage
        /// Where to listen. Default the loopback: without users whoever reaches the port may do all.
        package var host: String
        /// 0 picks a free port.
        package var port: Int
        /// The collections of the database, each `SCOPE.COLLECTION`, unless ``users`` names them. They share sequences;
        /// channels are given in each of them.
        package var collections = ["_default._default"]
        /// Whether a document may have several branches that are not deleted. Sync Gateway 4 never allows it, 3 does if
        /// it is told so.
        package var allowsConflicts = false
        /// How many generations of a document's history are kept. At least 20.
        package var revisionsLimit = 1_000
        /// Who may use the database. Nil for no users: GUEST reads and writes all.
        package var users: Users?
        /// What goes wrong on purpose, counted from the start. Nil for nothing.
        package var faults: FaultPlan?
        package var logger: Logger

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

    package enum Storage: Sendable, CustomStringConvertible {
        /// Gone when the gateway stops.
        case memory
        /// An SQLite file; made if it is not there. Beside it lie `-wal` and `-shm` while it is open, and
        /// `-lock`, which keeps a second gateway off.
        case file(String)

        package var description: String {
            switch self {
            case .memory: "the database in memory"
            case .file(let path): "the database file \(path)"
            }
        }

        /// The file, if it is not there yet.
        var newFile: String? {
            guard case .file(let path) = self, !DatabaseFile(path: path).exists else { return nil }
            return path
        }
    }

    /// Where a running gateway is reached.
    package struct Address: Sendable {
        package let host: String
        package let port: Int
        package let database: String

        /// `http://127.0.0.1:4984/todo`.
        package var url: String {
            "http://\(Self.text(host: host, port: port))/\(database)"
        }

        /// `127.0.0.1:4984`, `[::1]:4984`.
        static func text(host: String, port: Int) -> String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }
    }
}

/// Why the gateway did not start.
package struct EmbeddedGatewayError: Error, CustomStringConvertible {
    package struct Code: Equatable, Sendable {
        private let name: String

        /// The name of the database or a collection can't stand in a URL, or is none that Sync Gateway would take.
        package static let invalidName = Code(name: "invalidName")
        /// The file can't be made, read or written.
        package static let cannotOpenFile = Code(name: "cannotOpenFile")
        /// The file is not a gateway's database. Nothing was written to it.
        package static let foreignFile = Code(name: "foreignFile")
        /// Another gateway has the file open.
        package static let fileInUse = Code(name: "fileInUse")
        /// The port is taken or not allowed, or the host is not this machine's.
        package static let cannotListen = Code(name: "cannotListen")
    }

    package let code: Code
    /// With path or address; without credentials or documents.
    package let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
