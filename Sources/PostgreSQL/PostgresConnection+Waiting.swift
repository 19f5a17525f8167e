internal import CPostgreSQL
internal import Glibc

extension PostgresConnection {
    /// The answer to a statement.
    enum Answer {
        case result(PostgresResult, command: String)
        case failure(PostgresError)
        /// The end of a pipeline's window.
        case sync
        /// Not executed, because another statement of the window failed.
        case skipped
    }

    /// The next answer; nil at the end of a statement's answers.
    ///
    /// - Throws: ``PostgresError/unavailable(reason:sqlState:)``, which also breaks the connection.
    func nextAnswer(until deadline: ContinuousClock.Instant) throws(PostgresError) -> Answer? {
        let handle = try usableHandle()
        try waitForAnswer(handle, until: deadline)
        guard let result = library.PQgetResult(handle) else { return nil }
        defer { library.PQclear(result) }
        switch library.PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
            do throws(PostgresError) {
                let command = library.PQcmdStatus(result).map { String(cString: $0) } ?? ""
                return .result(try PostgresResult(result, library), command: command)
            } catch {
                return .failure(error)
            }
        case PGRES_PIPELINE_SYNC: return .sync
        case PGRES_PIPELINE_ABORTED: return .skipped
        case PGRES_FATAL_ERROR, PGRES_NONFATAL_ERROR: return .failure(failure(result))
        default:
            // COPY, which would wait for data.
            let error = PostgresError.badAnswer(reason: "a statement copies data, which is not supported")
            markBroken(error)
            throw error
        }
    }

    /// Reads all answers to one statement or script.
    ///
    /// - Returns: The last answer.
    /// - Throws: The first error.
    func lastAnswer(
        until deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> (result: PostgresResult, command: String) {
        var last = (result: PostgresResult(columns: [], rows: [], affected: 0), command: "")
        var failure: PostgresError?
        while let answer = try nextAnswer(until: deadline) {
            switch answer {
            case .result(let result, let command): last = (result, command)
            case .failure(let error):
                failure = failure ?? error
                if isBroken { throw failure ?? error }
            case .sync, .skipped: break
            }
        }
        if let failure { throw failure }
        return last
    }

    /// Sends libpq's pending data, and reads until the next answer is complete or the connection is lost. libpq then
    /// has an answer that says so.
    private func waitForAnswer(
        _ handle: OpaquePointer, until deadline: ContinuousClock.Instant
    ) throws(PostgresError) {
        while true {
            let unsent = library.PQflush(handle)
            if library.PQisBusy(handle) == 0 { return }
            // After a failed write, the server's reason may be readable.
            let events = Int16(POLLIN) | (unsent == 1 ? Int16(POLLOUT) : 0)
            let ready: Int16
            do throws(PostgresError) {
                ready = try SocketWait.wait(
                    for: events, on: library.PQsocket(handle), until: deadline, limit: settings.limit)
            } catch {
                markBroken(error)
                throw error
            }
            guard ready != 0 else { throw broken("no answer within the deadline") }
            if ready & Int16(POLLIN | POLLERR | POLLHUP) != 0, library.PQconsumeInput(handle) == 0,
                library.PQisBusy(handle) != 0
            {
                throw lost(handle)
            }
        }
    }

    // MARK: - Errors

    /// Marks the connection as broken.
    func broken(_ reason: String, sqlState: String? = nil) -> PostgresError {
        let error = PostgresError.unavailable(reason: "\(host): \(reason)", sqlState: sqlState)
        markBroken(error)
        return error
    }

    func lost(_ handle: OpaquePointer) -> PostgresError { broken(message(handle)) }

    private func message(_ handle: OpaquePointer) -> String {
        let text = PostgresError.line(library.PQerrorMessage(handle).map { String(cString: $0) } ?? "")
        return text.isEmpty ? "the connection was lost" : text
    }

    /// The error after a sending function has returned 0.
    func sendFailure(_ handle: OpaquePointer) -> PostgresError {
        if library.PQstatus(handle) == CONNECTION_BAD { return lost(handle) }
        // For example, too many parameters.
        return .refused(reason: message(handle))
    }

    private func failure(_ result: OpaquePointer) -> PostgresError {
        guard let state = field(cpostgresql_sqlstate, of: result) else {
            // Not from the server: libpq lost the connection or ran out of memory.
            guard let handle else { return .unavailable(reason: "the connection is closed") }
            return lost(handle)
        }
        let error = PostgresError(sqlState: state, message: field(cpostgresql_message, of: result) ?? "")
        if transaction?.firstError == nil { transaction?.firstError = error }
        let severity = field(cpostgresql_severity, of: result) ?? ""
        let isOver = ["FATAL", "PANIC"].contains(severity) || handle.map { library.PQstatus($0) } == CONNECTION_BAD
        if state == "25006" {
            // A writing transaction on a server that has become a standby. The next connection finds another server.
            if transaction?.isReadOnly == true { return .refused(reason: error.reason, sqlState: state) }
            markBroken(error)
        } else if isOver {
            let error = PostgresError.ended(error)
            markBroken(error)
            return error
        }
        return error
    }

    private func field(_ code: Int32, of result: OpaquePointer) -> String? {
        library.PQresultErrorField(result, code).map { String(cString: $0) }
    }
}

extension PostgresError {
    /// An error that ended the session: whatever the cause, a new connection is needed.
    fileprivate static func ended(_ error: PostgresError) -> PostgresError {
        switch error {
        case .refused(let reason, let state) where state?.hasPrefix("28") != true:
            .unavailable(reason: reason, sqlState: state)
        default: error
        }
    }
}
