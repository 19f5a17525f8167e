internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Logging

/// Reads and writes the replication logs at both ends, and tracks up to where everything is replicated.
///
/// Batches start in the order of the feed and finish in any order. The checkpoint is the end of the last batch of which
/// all earlier batches are finished. It is saved only after that.
actor ReplicationCheckpoints {
    private struct Batch {
        var end: SequenceID
        var isDone = false
    }

    private struct EndState {
        let end: ReplicationEnd
        var revision: RevisionID?
        var isWritable = true
        /// The database's instance at the start; nil if the server does not report it.
        var instance: String?
    }

    private let id: String
    private let report: ReplicationReport
    private let reportsSequence: Bool
    private let interval: Duration
    private let logger: Logger
    private var states: [EndState]
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
        states = ends.map { EndState(end: $0) }
        self.interval = interval
        self.report = report
        self.logger = logger
    }

    // MARK: - Start

    /// Finds where to start: at the newest common checkpoint of this job, or else of the jobs `others`.
    ///
    /// - Parameters:
    ///   - instances: The current instances of the source's and the target's database.
    ///   - startsOver: Whether to start from the beginning even if there is a checkpoint.
    func begin(others: [String], instances: [String?], startsOver: Bool) async throws -> SequenceID {
        for (index, instance) in instances.enumerated() { states[index].instance = instance }
        var common = try await read(id, isOwn: true)
        for other in others where common == nil {
            common = try await read(other, isOwn: false)
            guard common != nil else { continue }
            logger.info("continuing a replication that CouchDB started", metadata: ["replication": "\(other)"])
        }
        if startsOver { common = nil }
        if common == nil, !startsOver {
            logger.info(
                "no checkpoint of this replication: comparing all revisions; a checkpoint depends on the exact URLs of both ends, including http or https, and on the selection"
            )
        }
        let start = common?.sequence ?? .start
        history = common?.history ?? []
        let name = (0..<16).map { _ in UInt8.random(in: .min ... .max) }.hex
        session = ReplicationLog.Session(id: name, start: start, began: Timestamp.secondsNow)
        (safe, saved) = (start, start)
        if common != nil { noteSafeSequence() }
        return start
    }

    private func read(
        _ name: String, isOwn: Bool
    ) async throws -> (sequence: SequenceID, history: [ReplicationLog.Entry])? {
        var logs: [ReplicationLog?] = []
        for index in states.indices {
            let document = try await localDocument(name, at: index)
            if isOwn { states[index].revision = document?.revision }
            logs.append(document.flatMap { ReplicationLog($0.body) })
        }
        return ReplicationLog.common(logs[0], logs[1])
    }

    private func localDocument(_ name: String, at index: Int) async throws -> LocalDocument? {
        guard states[index].isWritable else { return nil }
        do {
            return try await Self.read(name, at: states[index].end)
        } catch let error as CheckpointsUnavailable {
            disableCheckpoint(index, error.reason)
            return nil
        }
    }

    private static func read(_ name: String, at end: ReplicationEnd) async throws -> LocalDocument? {
        try await end.contact.ask {
            do throws(GatewayError) { return try await end.gateway.localDocument(name) } catch {
                if error.code == .notOffered { throw CheckpointsUnavailable(reason: error.description) }
                throw error
            }
        }
    }

    private struct CheckpointsUnavailable: Error {
        let reason: String
    }

    private func disableCheckpoint(_ index: Int, _ reason: String) {
        states[index].isWritable = false
        logger.warning(
            "can't save a checkpoint on this gateway: the next run compares all revisions again",
            metadata: [LogKey.gateway: "\(states[index].end.gateway.url)", LogKey.reason: "\(reason)"])
    }

    // MARK: - Batches

    /// Notes a batch that ends at this sequence. Returns its number.
    func open(to end: SequenceID) -> Int {
        batches.append(Batch(end: end))
        return first + batches.count - 1
    }

    /// Records that the feed has advanced without changes.
    func pass(to sequence: SequenceID) {
        if batches.isEmpty { safe = sequence } else { batches[batches.count - 1].end = sequence }
        noteSafeSequence()
    }

    /// Records that a whole batch is replicated.
    func finish(_ number: Int) {
        batches[number - first].isDone = true
        let done = batches.prefix(while: \.isDone)
        guard let last = done.last else { return }
        safe = last.end
        batches.removeFirst(done.count)
        first += done.count
        noteSafeSequence()
    }

    private func noteSafeSequence() {
        guard reportsSequence else { return }
        let sequence = safe
        report.update { $0.lastSequence = sequence }
    }

    // MARK: - Saving

    /// Saves the checkpoint if the interval has passed.
    func saveIfDue() async throws {
        guard savedAt.duration(to: .now) >= interval else { return }
        try await save()
    }

    /// Saves the checkpoint at both ends, unless it is already saved.
    ///
    /// - Parameter isLast: Whether the run ends because of an error; failed requests are then not retried.
    /// - Throws: Also ``EndChanged``. No checkpoint then claims more than both ends have.
    func save(isLast: Bool = false) async throws {
        guard safe != saved, states.allSatisfy(\.isWritable) else { return }
        let sequence = safe
        savedAt = .now
        try await checkEnds(isLast: isLast)
        try await write(at: sequence, after: history, isLast: isLast)
        do { try await checkEnds(isLast: isLast) } catch let change as EndChanged {
            // The database was recreated after the check, and its checkpoint claims documents that it does not have.
            try await write(at: .start, after: [], isLast: isLast)
            throw change
        }
        saved = sequence
        logger.debug("saved a checkpoint", metadata: [LogKey.checkpoint: "\(sequence)"])
    }

    private func write(at sequence: SequenceID, after history: [ReplicationLog.Entry], isLast: Bool) async throws {
        let body = ReplicationLog.body(
            of: session, at: sequence, counts: report.state.counts, now: Timestamp.secondsNow, after: history)
        for index in states.indices { try await write(body, at: index, isLast: isLast) }
    }

    /// Checks whether one of the databases was deleted and recreated. It then has none of the replicated documents.
    ///
    /// - Note: Source: CouchDB's replicator compares `instance_start_time` at each checkpoint
    /// (`couch_replicator_scheduler_job.erl`). Sync Gateway also changes it after each pause; the logs distinguish the
    /// two.
    /// - Throws: ``EndChanged``.
    func checkEnds(isLast: Bool = false) async throws {
        for state in states {
            guard let before = state.instance else { continue }
            let gateway = state.end.gateway
            let info =
                isLast
                ? try await gateway.databaseInfo()
                : try await state.end.contact.ask { try await gateway.databaseInfo() }
            if let now = info.instance, now != before { throw EndChanged(url: "\(gateway.url)") }
        }
    }

    private func write(_ body: [UInt8], at index: Int, isLast: Bool) async throws {
        let (end, revision) = (states[index].end, states[index].revision)
        do {
            let new =
                isLast
                ? try await Self.write(body, id, replacing: revision, at: end.gateway)
                : try await Self.write(body, id, replacing: revision, at: end)
            states[index].revision = new
        } catch let error as CheckpointsUnavailable {
            disableCheckpoint(index, error.reason)
        }
    }

    /// Retries failed requests.
    private static func write(
        _ body: [UInt8], _ id: String, replacing revision: RevisionID?, at end: ReplicationEnd
    ) async throws -> RevisionID {
        try await end.contact.ask { try await write(body, id, replacing: revision, at: end.gateway) }
    }

    /// Replaces the current document after a conflict, as when the answer to the previous write was lost.
    private static func write(
        _ body: [UInt8], _ id: String, replacing revision: RevisionID?, at gateway: Gateway
    ) async throws -> RevisionID {
        do throws(GatewayError) {
            return try await gateway.saveLocalDocument(id, body: body, revision: revision)
        } catch {
            if error.code == .notOffered { throw CheckpointsUnavailable(reason: error.description) }
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
