internal import CPostgreSQL

extension PostgresConnection {
    /// A transaction that has begun.
    struct OpenTransaction {
        let isReadOnly: Bool
        /// Nil: each call has its own deadline.
        let deadline: ContinuousClock.Instant?
        /// The first error that the server reported in it.
        var firstError: PostgresError?
        /// The texts of the successful statements, if there is an observer.
        var statements: [String] = []
    }

    /// Runs `body` in a transaction, which is committed when it returns and rolled back when it throws. Not nested.
    ///
    /// - Parameters:
    ///   - readOnly: Statements that write are refused.
    ///   - deadline: The time for the whole transaction. Nil: ``PostgresSettings/deadline`` for each call.
    /// - Throws: The error of `body`; or ``PostgresError``: `.unknownCommit` if the server did not answer COMMIT. After
    ///   any other error nothing was changed.
    package func transaction<Result>(
        readOnly: Bool = false, deadline: Duration? = nil, _ body: (PostgresConnection) throws -> Result
    ) throws -> Result {
        precondition(transaction == nil, "transactions can't be nested")
        transaction = OpenTransaction(isReadOnly: readOnly, deadline: deadline.map { .now + $0 })
        defer { transaction = nil }
        let result: Result
        do {
            try begin(readOnly, deadline)
            result = try body(self)
            // The body may have caught the error.
            if let handle, library.PQtransactionStatus(handle) == PQTRANS_INERROR {
                throw transaction?.firstError ?? PostgresError.refused(reason: "the transaction failed before its end")
            }
        } catch {
            rollBack()
            throw error
        }
        try commit()
        if let statements = transaction?.statements, !statements.isEmpty { settings.observer?(statements) }
        return result
    }

    /// Reports a statement to the observer at the end of its transaction.
    func observe(_ sql: String, times: Int = 1) {
        guard let observer = settings.observer else { return }
        let statements = Array(repeating: sql, count: times)
        if transaction == nil { observer(statements) } else { transaction?.statements += statements }
    }

    private func begin(_ isReadOnly: Bool, _ deadline: Duration?) throws(PostgresError) {
        var sql = isReadOnly ? "BEGIN READ ONLY" : "BEGIN"
        if let deadline, deadline > settings.deadline {
            sql += "; SET LOCAL statement_timeout = \((deadline * 9 / 10).milliseconds)"
        }
        try script(sql)
    }

    /// Rolls back, and breaks the connection if that fails.
    private func rollBack() {
        guard !isBroken, !isIdle else { return }
        transaction = nil
        do throws(PostgresError) { try script("ROLLBACK") } catch { markBroken(error) }
    }

    private func commit() throws(PostgresError) {
        let handle = try usableHandle()
        let deadline = deadline
        guard deadline > .now else { throw broken("the deadline passed before COMMIT") }
        guard library.PQsendQuery(handle, "COMMIT") == 1 else {
            let error = sendFailure(handle)
            markBroken(error)
            throw error
        }
        do throws(PostgresError) {
            let command = try lastAnswer(until: deadline).command
            // The server rolls back a failed transaction instead.
            guard command == "COMMIT" else {
                throw transaction?.firstError ?? .refused(reason: "the transaction was rolled back")
            }
        } catch {
            // An ERROR of the server is definite. An error that ends the session can follow the commit itself, except
            // the one for a session that waited too long for COMMIT.
            guard isBroken, transaction?.isReadOnly == false, error.sqlState != "25P03" else { throw error }
            throw .unknownCommit(reason: error.reason, sqlState: error.sqlState)
        }
    }
}
