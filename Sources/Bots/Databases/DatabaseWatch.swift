internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Logging

/// Watches which databases exist and which have changed, with one request at a time for all of them.
///
/// Announcements can be missed: the server notes them with a delay, and a crash of one of its nodes loses them. So each
/// database's sequence is also compared once in a while.
struct DatabaseWatch: Sendable {
    /// The times between requests.
    struct Intervals: Sendable {
        /// Between two comparisons of all sequences, if the server announces changes. They are spread over this time.
        var sweep: Duration = .seconds(3600)
        /// The same if the server announces none.
        var poll: Duration = .seconds(10)
        /// The shortest time between two requests for announcements: a busy server has some at any time.
        var announcements: Duration = .milliseconds(250)
        /// How soon a server that announces nothing is asked for announcements again.
        var announcementRetry: Duration = .seconds(900)
    }

    enum Event: Sendable {
        /// All names that existed when the list was requested.
        case listed([String], asOf: ContinuousClock.Instant)
        /// What the server tells of these databases. Those without facts are missing or not readable.
        case compared([String], [String: DatabaseInfo])
        /// - Parameter missing: Those of the deleted databases that have not been created again.
        case announced([DatabaseUpdates.Row], missing: Set<String>)
        /// Whether requests of the watch are answered.
        case answers(Bool)
    }

    let directory: any DatabaseDirectory
    let retries: RetryPolicy.Settings
    let intervals: Intervals
    /// The databases to compare: those that match, in any order.
    let matches: @Sendable (String) -> Bool
    let logger: Logger
    let handle: @Sendable (Event) async -> Void

    /// Lists the databases and compares all sequences once.
    ///
    /// - Throws: `RunError`, `CancellationError`.
    func look(isFirst: Bool) async throws {
        let contact = GatewayContact(settings: retries, logger: logger)
        let asked = ContinuousClock.now
        let names = try await isFirst ? contact.askFirst(list) : contact.ask(list)
        await handle(.listed(names, asOf: asked))
        for batch in batches(names) {
            let infos = try await contact.ask { try await directory.infos(of: batch) }
            await handle(.compared(batch, infos))
        }
    }

    private func list() async throws -> [String] {
        try await directory.names().filter(matches)
    }

    private func batches(_ names: [String]) -> [[String]] {
        stride(from: 0, to: names.count, by: Gateway.maxDatabasesOfRequest).map {
            Array(names[$0..<min($0 + Gateway.maxDatabasesOfRequest, names.count)])
        }
    }

    /// Watches until it is cancelled.
    ///
    /// - Throws: `RunError`, `CancellationError`.
    func run() async throws {
        let contact = GatewayContact(settings: retries, logger: logger)
        var retrier = contact.makeRetrier()
        var (isFirst, hasWarned) = (true, false)
        while true {
            // Announcements begin before the comparison, so that none is missed in between.
            let start = try await isFirst ? contact.askFirst(startOfAnnouncements) : contact.ask(startOfAnnouncements)
            switch start {
            case .success(let start):
                if hasWarned { logger.notice("the server announces changes of \(directory.what) again") }
                hasWarned = false
                try await look(isFirst: isFirst)
                isFirst = false
                do { try await follow(from: start) } catch let error as GatewayError {
                    await handle(.answers(false))
                    try await retrier.wait(
                        after: error, "the announcements of changes were interrupted; trying again", stopsAll: true)
                }
            case .failure(let refusal):
                if !hasWarned, directory.expectsAnnouncements {
                    logger.warning(
                        "the server does not announce which \(directory.what) change; comparing their sequences every \(intervals.poll.text) instead",
                        metadata: [LogKey.reason: "\(refusal)"])
                }
                hasWarned = directory.expectsAnnouncements
                try await poll(isFirst: isFirst)
                isFirst = false
            }
        }
    }

    /// - Returns: A failure if the server announces nothing to this user.
    private func startOfAnnouncements() async throws -> Result<SequenceID, GatewayError> {
        do { return .success(try await directory.updates(since: nil).last) } catch  where error.code == .notOffered {
            return .failure(error)
        }
    }

    /// - Throws: `GatewayError` when a request fails, `CancellationError`.
    private func follow(from start: SequenceID) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await sweep() }
            defer { tasks.cancelAll() }
            var since = start
            while true {
                let began = ContinuousClock.now
                let updates = try await directory.updates(since: since)
                since = updates.last
                if !updates.rows.isEmpty {
                    await handle(.announced(updates.rows, missing: missing(after: updates.rows)))
                }
                await handle(.answers(true))
                try await Task.sleep(until: began + intervals.announcements, clock: .continuous)
            }
        }
    }

    /// The databases that were deleted and don't exist now. If that can't be found out, none: working on them shows it.
    private func missing(after rows: [DatabaseUpdates.Row]) async -> Set<String> {
        let deleted = Set(rows.filter { $0.isDeletion && matches($0.database) }.map(\.database))
        var missing: Set<String> = []
        for batch in batches(deleted.sorted()) {
            guard let present = try? await directory.infos(of: batch) else { continue }
            missing.formUnion(batch.filter { present[$0] == nil })
        }
        return missing
    }

    /// Compares all sequences, spread over ``Intervals/sweep``, again and again.
    private func sweep() async throws {
        while true {
            let asked = ContinuousClock.now
            guard let names = try? await list() else {
                try await Task.sleep(for: intervals.announcementRetry)
                continue
            }
            await handle(.listed(names, asOf: asked))
            let batches = batches(names)
            let pause = intervals.sweep / (batches.count + 1)
            try await Task.sleep(for: pause)
            for batch in batches {
                if let infos = try? await directory.infos(of: batch) {
                    await handle(.compared(batch, infos))
                }
                try await Task.sleep(for: pause)
            }
        }
    }

    /// Compares all sequences at short intervals, until it is time to ask for announcements again.
    private func poll(isFirst: Bool) async throws {
        let end = ContinuousClock.now + intervals.announcementRetry
        var isFirst = isFirst
        repeat {
            try await look(isFirst: isFirst)
            isFirst = false
            await handle(.answers(true))
            try await Task.sleep(for: intervals.poll)
        } while .now < end
    }
}
