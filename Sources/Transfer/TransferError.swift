/// Why data can't be moved, where the gateway is not to blame. What a gateway does is a `RunFailure`.
package struct TransferError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        /// What was asked for can't be done, whatever the files hold.
        case usage
        /// A file that is to be read is not there.
        case missing
        /// What a file holds is not what it should.
        case invalid
        case cannotCreate
        /// The file is there, and is not one that this run may replace.
        case occupied
        /// A full disk, most often, or a stdout that nobody reads any more.
        case cannotWrite
        /// Another run has the file.
        case locked
        /// What an earlier run left belongs to another gateway, keyspace or database, or was made with other options.
        case foreign
    }

    package let code: Code
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
