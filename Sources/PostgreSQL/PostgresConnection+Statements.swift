internal import CPostgreSQL

// Errors are ``PostgresError``. After an error in a transaction, only a rollback is possible. Outside a transaction,
// each statement is a separate transaction.
extension PostgresConnection {
    /// Runs one statement, with `$1`, `$2` … for the values. It is prepared once per connection and text.
    @discardableResult
    package func run(_ sql: String, _ values: [PostgresValue] = []) throws(PostgresError) -> PostgresResult {
        let deadline = deadline
        let values = try EncodedValues(values)
        let name = try prepared(sql, until: deadline)
        try send(sql, name, values)
        do throws(PostgresError) {
            let result = try lastAnswer(until: deadline).result
            observe(sql)
            return result
        } catch {
            forget(sql, after: error)
            throw error
        }
    }

    /// Runs one statement without preparing it.
    func runOnce(_ sql: String) throws(PostgresError) -> PostgresResult {
        let deadline = deadline
        try send(sql, nil, try EncodedValues([]))
        return try lastAnswer(until: deadline).result
    }

    /// Runs one statement for each list of values, without waiting for each answer.
    ///
    /// For use in a transaction. Outside one, statements before an error may or may not take effect.
    ///
    /// - Returns: A result for each list.
    package func runEach(_ sql: String, _ list: [[PostgresValue]]) throws(PostgresError) -> [PostgresResult] {
        guard !list.isEmpty else { return [] }
        let deadline = deadline
        for values in list { try EncodedValues.check(values) }
        let name = try prepared(sql, until: deadline)
        let handle = try usableHandle()
        guard library.PQenterPipelineMode(handle) == 1 else { throw sendFailure(handle) }
        var results: [PostgresResult] = []
        results.reserveCapacity(list.count)
        do throws(PostgresError) {
            while results.count < list.count {
                let count = try sendWindow(sql, name, list[results.count...])
                try results += readWindow(count, until: deadline)
            }
        } catch {
            forget(sql, after: error)
            // Fails, and breaks the connection, if a statement could not be sent so that the window has no end.
            try? leavePipeline()
            throw error
        }
        try leavePipeline()
        observe(sql, times: results.count)
        return results
    }

    /// Runs several statements without values, separated by semicolons, as one transaction. Their results are dropped.
    package func script(_ sql: String) throws(PostgresError) {
        let deadline = deadline
        let handle = try usableHandle()
        guard library.PQsendQuery(handle, sql) == 1 else { throw sendFailure(handle) }
        _ = try lastAnswer(until: deadline)
    }

    // MARK: - Preparing

    /// The name of the prepared statement; nil if it must be sent with its text.
    private func prepared(_ sql: String, until deadline: ContinuousClock.Instant) throws(PostgresError) -> String? {
        let handle = try usableHandle()
        if let name = statements[sql] { return name }
        guard let name = statements.newName() else { return nil }
        guard library.PQsendPrepare(handle, name, sql, 0, nil) == 1 else { throw sendFailure(handle) }
        _ = try lastAnswer(until: deadline)
        statements.add(sql, as: name)
        return name
    }

    /// Forgets a prepared statement that the server has dropped, or that returns other columns because its table was
    /// altered.
    private func forget(_ sql: String, after error: PostgresError) {
        if ["0A000", "26000"].contains(error.sqlState) { statements.remove(sql) }
    }

    private func send(_ sql: String, _ name: String?, _ values: EncodedValues) throws(PostgresError) {
        let handle = try usableHandle()
        let isSent = values.withArguments { count, values, lengths, formats in
            if let name {
                library.PQsendQueryPrepared(handle, name, count, values, lengths, formats, 1)
            } else {
                library.PQsendQueryParams(handle, sql, count, nil, values, lengths, formats, 1)
            }
        }
        guard isSent == 1 else { throw sendFailure(handle) }
    }

    // MARK: - Windows of a pipeline

    /// The statements, and roughly the bytes, that are sent before the answers are read.
    private static let window = (statements: 500, bytes: 1 << 20)

    /// - Returns: How many statements it sent.
    private func sendWindow(
        _ sql: String, _ name: String?, _ list: ArraySlice<[PostgresValue]>
    ) throws(PostgresError) -> Int {
        var (count, bytes) = (0, 0)
        for values in list.prefix(Self.window.statements) where bytes < Self.window.bytes {
            let values = try EncodedValues(values)
            try send(sql, name, values)
            count += 1
            bytes += values.size
        }
        let handle = try usableHandle()
        guard library.PQpipelineSync(handle) == 1 else { throw lost(handle) }
        return count
    }

    /// Reads until the end of the window, even after an error, so that the connection stays usable.
    private func readWindow(
        _ count: Int, until deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> [PostgresResult] {
        var results: [PostgresResult] = []
        var failure: PostgresError?
        reading: while true {
            // Nil separates the answers to two statements.
            guard let answer = try nextAnswer(until: deadline) else { continue }
            switch answer {
            case .result(let result, _): results.append(result)
            case .failure(let error):
                failure = failure ?? error
                if isBroken { break reading }
            case .skipped: break
            case .sync: break reading
            }
        }
        if let failure { throw failure }
        guard results.count == count else {
            throw broken("\(results.count) answers to \(count) statements")
        }
        return results
    }

    private func leavePipeline() throws(PostgresError) {
        guard let handle else { return }
        guard library.PQexitPipelineMode(handle) == 1 else { throw lost(handle) }
    }
}
