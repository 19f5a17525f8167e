internal import LosslessJSON

extension EmbeddedGateway {
    /// Who may use the database, and which channels they see.
    ///
    /// Passwords are hashed as they are read: the value holds none.
    package struct Users: Sendable {
        /// By name.
        var accounts: [String: Account] = [:]
        /// The channels of each role, by its name.
        var roles: [String: ChannelList] = [:]
        /// The collections of the database, each `SCOPE.COLLECTION`; nil if the file says nothing about them.
        var collections: [String]?
        /// Who comes without a name. Disabled unless the file says otherwise.
        var guest = Account(isDisabled: true)

        struct Account: Sendable {
            var password: PasswordHash?
            var channels = ChannelList()
            var roles: Set<String> = []
            var isDisabled = false

            var grants: Set<Grant> { channels.grants.union(roles.map(Grant.role)) }
        }

        /// Channels by the collection in which they are given, `SCOPE.COLLECTION`.
        struct ChannelList: Sendable, Equatable, ExpressibleByArrayLiteral {
            var byCollection: [String: Set<String>] = [:]

            /// Of the default collection.
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
        /// Members of a database that say nothing about users or collections are passed over.
        ///
        /// - Parameters:
        ///   - text: The file's bytes.
        ///   - database: The database to look for.
        /// - Throws: ``UsersFault`` with the line and the column.
        /// - Note: Source: Sync Gateway's configuration, `databases.$db.users`, `.roles`, `.guest`, `.scopes`.
        package static func parse(_ text: [UInt8], database: String) throws(UsersFault) -> Users {
            try UsersFile(text).users(of: database)
        }
    }

    /// Where a file with users is wrong.
    package struct UsersFault: Error, Equatable, CustomStringConvertible {
        /// Counted from 1.
        package let line: Int
        /// In Unicode scalars, counted from 1.
        package let column: Int
        /// Without passwords.
        package let reason: String

        package var description: String { "\(line):\(column): \(reason)" }
    }
}
