internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Logging

/// Reads and writes the logs of a replication at both ends, and knows up to where everything is replicated.
///
/// Batches begin in the order of the feed and end in any order. The checkpoint is the end of the last batch before which
/// all batches have ended, and it is saved only after that.
actor ReplicationCheckpoints {
    private struct Batch {
        var end: SequenceID
        var isDone = false
    }

    private struct Place {
        let end: ReplicationEnd
        var revision: RevisionID?
        var isWritable = true
        /// Which database it was at the beginning; nil if the server does not say.
        var instance: String?
    }

    private let id: String
    private let report: ReplicationReport
    private let reportsSequence: Bool
    private let interval: Duration
    private let logger: Logger
    private var places: [Place]
    private var session = ReplicationLog.Session(id: "", start: .start, began: 0)
    private var history: [ReplicationLog.Entry] = []

    private var batches: [Batch] = []
    /// The number of `batches[0]`.
    private var first = 0
    private var safe = SequenceID.start
    private var saved = SequenceID.start
    private var savedAt = ContinuousClock.now

    /// - Parameter ends: The source, then the target. Written in this order, as CouchDB does.
    init(
        id: String, ends: [ReplicationEnd], interval: Duration, report: ReplicationReport, reportsSequence: Bool,
        logger: Logger
    ) {
        self.id = id
        self.reportsSequence = reportsSequence
        places = ends.map { Place(end: $0) }
        self.interval = interval
        self.report = report
        self.logger = logger
    }

    // MARK: - The beginning

    /// Finds where to begin: at the newest checkpoint that both ends know, of this job or else of the jobs `others`.
    ///
    /// - Parameters:
    ///   - instances: Which databases the source and the target are now.
    ///   - isAnew: Begins at the start all the same.
    func begin(others: [String], instances: [String?], isAnew: Bool) async throws -> SequenceID {
        for (index, instance) in instances.enumerated() { places[index].instance = instance }
        var common = try await read(id, isOwn: true)
        for other in others where common == nil {
            common = try await read(other, isOwn: false)
            guard common != nil else { continue }
            logger.info("continuing a replication of CouchDB", metadata: ["replication": "\(other)"])
        }
        if isAnew { common = nil }
        if common == nil, !isAnew {
            logger.info(
                "no checkpoint of this replication: comparing all revisions; it belongs to the exact URLs of both ends, http or https included, and to what is replicated"
            )
        }
        let start = common?.sequence ?? .start
        history = common?.history ?? []
        let name = (0..<16).map { _ in UInt8.random(in: .min ... .max) }.hex
        session = ReplicationLog.Session(id: name, start: start, began: Timestamp.secondsNow)
        (safe, saved) = (start, start)
        if common != nil { noteSafe() }
        return start
    }

    private func read(
        _ name: String, isOwn: Bool
    ) async throws -> (sequence: SequenceID, history: [ReplicationLog.Entry])? {
        var logs: [ReplicationLog?] = []
        for index in places.indices {
            let document = try await localDocument(name, at: index)
            if isOwn { places[index].revision = document?.revision }
            logs.append(document.flatMap { ReplicationLog($0.body) })
        }
        return ReplicationLog.common(logs[0], logs[1])
    }

    private func localDocument(_ name: String, at index: Int) async throws -> LocalDocument? {
        guard places[index].isWritable else { return nil }
        do {
            return try await Self.read(name, at: places[index].end)
        } catch let error as NoCheckpoints {
            forgo(index, error.reason)
            return nil
        }
    }

    private static func read(_ name: String, at end: ReplicationEnd) async throws -> LocalDocument? {
        try await end.contact.ask {
            do throws(GatewayError) { return try await end.gateway.localDocument(name) } catch {
                if error.code == .notOffered { throw NoCheckpoints(reason: error.description) }
                throw error
            }
        }
    }

    private struct NoCheckpoints: Error {
        let reason: String
    }

    private func forgo(_ index: Int, _ reason: String) {
        places[index].isWritable = false
        logger.warning(
            "can't keep a checkpoint there: the next run compares all revisions again",
            metadata: [LogKey.gateway: "\(places[index].end.gateway.url)", LogKey.reason: "\(reason)"])
    }

    // MARK: - Batches

    /// Notes a batch that ends at this sequence. Returns its number.
    func open(to end: SequenceID) -> Int {
        batches.append(Batch(end: end))
        return first + batches.count - 1
    }

    /// The feed has moved on without changes.
    func pass(to sequence: SequenceID) {
        if batches.isEmpty { safe = sequence } else { batches[batches.count - 1].end = sequence }
        noteSafe()
    }

    /// All of a batch is replicated.
    func finish(_ number: Int) {
        batches[number - first].isDone = true
        let done = batches.prefix(while: \.isDone)
        guard let last = done.last else { return }
        safe = last.end
        batches.removeFirst(done.count)
        first += done.count
        noteSafe()
    }

    private func noteSafe() {
        guard reportsSequence else { return }
        let sequence = safe
        report.update { $0.lastSequence = sequence }
    }

    // MARK: - Saving

    /// Saves the checkpoint if that is due.
    func saveIfDue() async throws {
        guard savedAt.duration(to: .now) >= interval else { return }
        try await save()
    }

    /// Saves the checkpoint at both ends, unless it is saved already.
    ///
    /// - Parameter isLast: The run ends because of an error: failed requests are not repeated.
    /// - Throws: Also ``EndChanged``; then no checkpoint says more than what both ends have.
    func save(isLast: Bool = false) async throws {
        guard safe != saved, places.allSatisfy(\.isWritable) else { return }
        let sequence = safe
        savedAt = .now
        try await checkEnds(isLast: isLast)
        try await write(at: sequence, after: history, isLast: isLast)
        do { try await checkEnds(isLast: isLast) } catch let change as EndChanged {
            // It was made anew after it was looked at: it got a checkpoint of what it does not have.
            try await write(at: .start, after: [], isLast: isLast)
            throw change
        }
        saved = sequence
        logger.debug("saved a checkpoint", metadata: [LogKey.checkpoint: "\(sequence)"])
    }

    private func write(at sequence: SequenceID, after history: [ReplicationLog.Entry], isLast: Bool) async throws {
        let body = ReplicationLog.body(
            of: session, at: sequence, counts: report.state.counts, now: Timestamp.secondsNow, after: history)
        for index in places.indices { try await write(body, at: index, isLast: isLast) }
    }

    /// One of the databases may have been deleted and made anew: it has nothing of what was replicated so far.
    ///
    /// - Note: Source: CouchDB's replicator compares `instance_start_time` at each checkpoint
    ///   (`couch_replicator_scheduler_job.erl`). Sync Gateway's is new after each pause, too; the logs tell the two apart.
    /// - Throws: ``EndChanged``.
    func checkEnds(isLast: Bool = false) async throws {
        for place in places {
            guard let before = place.instance else { continue }
            let gateway = place.end.gateway
            let info =
                isLast
                ? try await gateway.databaseInfo()
                : try await place.end.contact.ask { try await gateway.databaseInfo() }
            if let now = info.instance, now != before { throw EndChanged(url: "\(gateway.url)") }
        }
    }

    private func write(_ body: [UInt8], at index: Int, isLast: Bool) async throws {
        let (end, revision) = (places[index].end, places[index].revision)
        do {
            let new =
                isLast
                ? try await Self.write(body, id, replacing: revision, at: end.gateway)
                : try await Self.write(body, id, replacing: revision, at: end)
            places[index].revision = new
        } catch let error as NoCheckpoints {
            forgo(index, error.reason)
        }
    }

    /// Repeats requests that fail.
    private static func write(
        _ body: [UInt8], _ id: String, replacing revision: RevisionID?, at end: ReplicationEnd
    ) async throws -> RevisionID {
        try await end.contact.ask { try await write(body, id, replacing: revision, at: end.gateway) }
    }

    /// After a conflict, as when the answer to the write before was lost, replaces what is there.
    private static func write(
        _ body: [UInt8], _ id: String, replacing revision: RevisionID?, at gateway: Gateway
    ) async throws -> RevisionID {
        do throws(GatewayError) {
            return try await gateway.saveLocalDocument(id, body: body, revision: revision)
        } catch {
            if error.code == .notOffered { throw NoCheckpoints(reason: error.description) }
            guard error.code == .conflict else { throw error }
        }
        let current = try await gateway.localDocument(id)
        return try await gateway.saveLocalDocument(id, body: body, revision: current?.revision)
    }
}

/// A database was replaced since the beginning, or was unavailable.
struct EndChanged: Error {
    let url: String
}
