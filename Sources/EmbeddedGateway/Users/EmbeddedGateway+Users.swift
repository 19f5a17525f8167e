internal import LosslessJSON
internal import SyncFunctions

extension EmbeddedGateway {
    /// The users and roles of a database and their channels.
    ///
    /// Passwords are hashed when they are read, and never kept.
    package struct Users: Sendable {
        /// By name.
        var accounts: [String: Account] = [:]
        /// The channels of each role, by the role's name.
        var roles: [String: ChannelList] = [:]
        /// The collections of the database as `SCOPE.COLLECTION`. Nil if the file does not list any.
        var collections: [String]?
        /// The sync functions of the collections, by `SCOPE.COLLECTION`. Each already runs in a process.
        var functions: [String: SyncFunction] = [:]
        /// The limits of functions.
        var limits = SyncFunction.Limits()
        /// The account of anonymous requests. Disabled unless the file says otherwise.
        var guest = Account(isDisabled: true)

        struct Account: Sendable {
            var password: PasswordHash?
            var channels = ChannelList()
            var roles: Set<String> = []
            var isDisabled = false

            var grants: Set<Grant> { channels.grants.union(roles.map(Grant.role)) }
        }

        /// Channels by collection, `SCOPE.COLLECTION`.
        struct ChannelList: Sendable, Equatable, ExpressibleByArrayLiteral {
            var byCollection: [String: Set<String>] = [:]

            /// Channels of the default collection.
            init(_ channels: some Sequence<String> = []) {
                let channels = Set(channels)
                if !channels.isEmpty { byCollection[Router.defaultCollection] = channels }
            }

            init(arrayLiteral channels: String...) { self.init(channels) }

            var grants: Set<Grant> {
                Set(byCollection.flatMap { name, channels in channels.map { .channel($0, collection: name) } })
            }
        }

        /// Reads a configuration file in Sync Gateway's style:
        /// `{"databases":{NAME:{"users":…,"roles":…,"guest":…,"scopes":…}}}`.
        ///
        /// Other members of a database are ignored, but an import filter is an error.
        ///
        /// - Parameters:
        ///   - text: The file's bytes.
        ///   - database: The database to look for.
        /// - Throws: ``UsersError`` with the line and the column.
        /// - Note: Source: Sync Gateway's configuration, `databases.$db.users`, `.roles`, `.guest`, `.scopes`, `.sync`,
        ///   `.javascript_timeout_secs`.
        package static func parse(_ text: [UInt8], database: String) throws(UsersError) -> Users {
            try UsersFile(text).users(of: database)
        }
    }

    /// A mistake in a users file.
    package struct UsersError: Error, Equatable, CustomStringConvertible {
        /// From 1.
        package let line: Int
        /// From 1, in Unicode scalars.
        package let column: Int
        /// What is wrong. Contains no passwords.
        package let reason: String

        /// `LINE:COLUMN: REASON`, without the path.
        package var description: String { "\(line):\(column): \(reason)" }
    }
}
