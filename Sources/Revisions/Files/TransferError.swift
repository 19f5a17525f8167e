/// An error of files or options in a transfer. Errors of the gateway are `RunError`.
package struct TransferError: Error, Sendable, CustomStringConvertible {
    /// The kind of error; the command maps it to an exit code.
    package enum Code: Sendable, Equatable {
        /// The options can't be carried out, regardless of the files' content.
        case usage
        /// A file to read does not exist or can't be read.
        case missing
        /// A file's content is not valid.
        case invalid
        case cannotCreate
        /// The file exists, and this run must not replace it.
        case occupied
        /// Usually a full disk, or a stdout that its reader has closed.
        case cannotWrite
        /// Another run has locked the file.
        case locked
        /// The state of an earlier run belongs to another gateway, keyspace or database, or to other options.
        case foreign
    }

    /// Determines the exit code.
    package let code: Code
    /// A message for the user that names the file and, where possible, the remedy.
    package let description: String

    /// - Parameter description: What is wrong and what to do, on one line.
    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
