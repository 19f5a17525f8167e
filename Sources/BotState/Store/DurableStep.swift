internal import GRDB
internal import Locking

/// Something that a run has made durable outside the gateway. In debug builds, a test in the same process can observe
/// these steps; in release builds, nothing can.
package enum DurableStep: Sendable {
    /// A transaction on the state or the log is committed, with the texts of all executed statements.
    case transaction([String])
    /// Lines are appended to a file and synced.
    case lines(path: String, [UInt8])

    #if DEBUG
        /// Called with each step of the task that sets it, for states that it opens and lines that it appends.
        @TaskLocal package static var observer: (@Sendable (DurableStep) -> Void)?
    #endif

    /// Notifies the observer, if there is one.
    package func note() {
        #if DEBUG
            Self.observer?(self)
        #endif
    }

    /// For the PostgreSQL connections that the current task makes. Nil: there is no observer.
    static var transactionObserver: (@Sendable ([String]) -> Void)? {
        #if DEBUG
            if let observer { return { observer(.transaction($0)) } }
        #endif
        return nil
    }

    /// The same for the SQLite connections that the current task makes.
    static func observeTransactions(of configuration: inout Configuration) {
        guard let observer = transactionObserver else { return }
        configuration.prepareDatabase { database in
            // Nil outside a transaction.
            let statements = Locked<[String]?>(nil)
            database.trace { event in
                guard case .statement(let statement) = event else { return }
                switch statement.sql.prefix(while: { $0.isLetter }) {
                case "BEGIN": statements.withLock { $0 = [] }
                case "ROLLBACK": statements.withLock { $0 = nil }
                case "COMMIT":
                    let committed = statements.withLock { open in
                        defer { open = nil }
                        return open
                    }
                    if let committed, !committed.isEmpty { observer(committed) }
                default: statements.withLock { $0?.append(statement.sql) }
                }
            }
        }
    }
}
