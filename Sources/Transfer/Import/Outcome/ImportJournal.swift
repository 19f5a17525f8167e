internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging
internal import LosslessJSON
internal import Revisions

/// Records the outcomes of batches in order and saves the progress. Runs on its own thread, because writing and syncing
/// block.
///
/// Rejected documents are on disk before the progress mentions them. If the run is killed, the next one resumes from
/// the last save and truncates the files to it. A save never falls between the documents that a mapping makes from one
/// input document: some would otherwise be counted and rejected twice.
actor ImportJournal {
    private let executor = BlockingExecutor("changebot.import")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let settings: ImportSettings
    private let path: String?
    private let rejects: RejectFiles?
    private let report: ImportReport
    private let logger: Logger
    private(set) var progress: ImportProgress
    /// The last state from which a run can resume.
    private var resumable: ImportProgress
    private var savedAt = ContinuousClock.now
    /// Finished batches that wait for an earlier batch.
    private var waiting: [Int: SettledBatch] = [:]
    private var next = 0
    private var messages = RepeatedMessages(last: "further rejected documents are not logged individually")

    /// - Parameter path: The progress file; nil to save nothing.
    init(
        _ progress: ImportProgress, at path: String?, rejects: sending RejectFiles?, settings: ImportSettings,
        report: ImportReport, logger: Logger
    ) throws(TransferError) {
        self.progress = progress
        resumable = progress
        self.path = path
        self.rejects = rejects
        self.settings = settings
        self.report = report
        self.logger = logger
        // Save before the first write, so that a resumed run knows that documents may have been written.
        if let path { try FileOperations.write(progress.json, to: path) }
        report.show(progress)
    }

    /// Begins a pass. Batch numbers start at 0 again.
    func begin(pass: Int) throws(TransferError) {
        if progress.pass != pass {
            progress.pass = pass
            progress.items = 0
        }
        advanceSavePoint()
        next = 0
        waiting = [:]
        try save()
    }

    /// - Returns: How many batches of this pass are recorded, without gaps.
    /// - Throws: ``TransferError``; `RunError` if too many documents were rejected.
    func record(_ settled: SettledBatch) throws -> Int {
        waiting[settled.batch.number] = settled
        while let settled = waiting.removeValue(forKey: next) {
            next += 1
            try recordNext(settled.batch, settled.results)
        }
        if savedAt.duration(to: .now) >= settings.saveInterval { try save() }
        try check(isFinal: false)
        return next
    }

    private func recordNext(_ batch: ImportBatch, _ results: ImportResults) throws {
        for (index, (entry, outcome)) in zip(batch.entries, results.outcomes).enumerated() {
            progress.counts.add(outcome, isDeletion: entry.isDeletion)
            if outcome.leavesDocument, !entry.isDeletion { progress.sample.note(entry.id) }
            if let preview = settings.preview {
                try preview(outcome.preview(of: entry, document: results.documents[index]))
            }
            if case .rejected(let reason) = outcome { try reject(entry, reason) }
        }
        progress.items = batch.end
        progress.input += batch.counted
        if batch.isWhole { advanceSavePoint() }
        report.show(progress)
    }

    private func advanceSavePoint() {
        if let rejects { progress.rejects = rejects.reached }
        resumable = progress
    }

    private func reject(_ entry: ImportEntry, _ reason: String) throws(TransferError) {
        try rejects?.write(entry, reason)
        guard settings.preview == nil else { return }
        messages.log(
            "rejected", .warning, to: logger,
            [
                LogKey.file: "\(settings.path)", LogKey.line: "\(entry.origin.line)",
                LogKey.id: "\(entry.id?.text ?? "")", LogKey.reason: "\(reason)",
            ])
    }

    /// - Throws: `RunError` if too many documents were rejected.
    func check(isFinal: Bool) throws {
        let failures = report.failures
        guard let limit = settings.errorLimit, limit.isExceeded(by: failures, isFinal: isFinal) else { return }
        throw RunError(limit, failures)
    }

    func save() throws(TransferError) {
        savedAt = .now
        try rejects?.save()
        if let path { try FileOperations.write(resumable.json, to: path) }
    }

    /// Call when the input could not be read to its end and everything before the error is settled. Removes the
    /// progress file if nothing was read, because there is nothing to resume.
    func end() throws(TransferError) {
        guard progress.pass == 0, progress.items == 0 else { return }
        try rejects?.save()
        if let path { FileOperations.remove(path) }
    }

    /// Call at the end of a complete import: removes the progress file.
    func complete() throws(TransferError) {
        try rejects?.complete()
        if let path { FileOperations.remove(path) }
    }
}

extension ImportReport {
    fileprivate func show(_ progress: ImportProgress) {
        let accepted = progress.counts.inserted + progress.counts.changed
        update { state in
            state.counts = progress.counts
            state.counters.changes = progress.input.documents
            state.counters.matched = progress.input.matched
            state.counters.rules.fired = progress.input.rules
            if isDryRun {
                (state.counters.preview.written, state.counters.preview.deleted) = (accepted, progress.counts.deleted)
            } else {
                (state.counters.written, state.counters.deleted) = (accepted, progress.counts.deleted)
            }
            state.counters.unchanged = progress.counts.unchanged
            state.counters.rejected = progress.counts.rejected
        }
    }
}

/// The progress of an import. Everything in it is done and on disk.
struct ImportProgress: Sendable, Equatable {
    let identity: ImportIdentity
    /// `$now` in programs of the mapping: the same in every run of this import.
    let now: Int
    /// State of the database when the import began.
    var database = DatabaseState()
    /// Sample of documents that exist since then.
    var sample = DatabaseSample()
    /// The index of this pass, from 0.
    var pass = 0
    /// Documents of the input that this pass has finished.
    var items = 0
    /// Counts of the documents that were read.
    var input = InputCounts()
    var counts = ImportCounts()
    var rejects = RejectFiles.SavePoint()

    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("changebot", string: "import-progress")
            writer.member("version", integer: 1)
            writer.member("size", integer: identity.input.size)
            writer.member("modified", integer: identity.input.changed)
            writer.member("head_sha256", string: identity.input.head)
            writer.member("target", string: identity.target)
            writer.member("mode", string: identity.mode.rawValue)
            writer.member("map", optional: identity.mapping)
            writer.member("schema", optional: identity.schema?.rawValue)
            writer.member("selector", optional: identity.selector)
            if let reading = identity.reading {
                writer.member("format", optional: reading.format?.rawValue)
                writer.member("delimiter", string: String(decoding: [reading.delimiter.byte], as: UTF8.self))
            }
            writer.member("now", integer: now)
            writer.member("instance", optional: database.instance)
            if let newest = database.newest { writer.member("sequence", integer: newest) }
            sample.write(to: &writer)
            writer.member("deleted", integer: counts.deleted)
            input.write(to: &writer)
            for (name, keyPath) in Self.numbers { writer.member(name, integer: self[keyPath: keyPath]) }
        }
        return writer.bytes + [UInt8(ascii: "\n")]
    }

    init(_ identity: ImportIdentity, now: Int) {
        self.identity = identity
        self.now = now
    }

    /// Nil if this is not a valid progress file.
    init?(_ bytes: [UInt8]) {
        guard let root = try? JSONText(bytes).root, root["changebot"]?.string == "import-progress",
            root["version"]?.integer == 1, let size = root["size"]?.integer, let changed = root["modified"]?.integer,
            let head = root["head_sha256"]?.string,
            let target = root["target"]?.string, let mode = root["mode"]?.string.flatMap(ImportMode.init(rawValue:)),
            let now = root["now"]?.integer
        else { return nil }
        identity = ImportIdentity(
            input: .init(size: size, changed: changed, head: head), target: target, mode: mode,
            mapping: root["map"]?.string,
            schema: root["schema"]?.string.flatMap(ImportSettings.Schema.init(rawValue:)),
            selector: root["selector"]?.string, reading: ImportIdentity.Reading(root))
        self.now = now
        database = DatabaseState(instance: root["instance"]?.string, newest: root["sequence"]?.count)
        sample = DatabaseSample(root)
        // Missing in files of earlier versions.
        if let deleted = root["deleted"] {
            guard let count = deleted.count else { return nil }
            counts.deleted = count
        }
        guard let input = InputCounts(root) else { return nil }
        self.input = input
        for (name, keyPath) in Self.numbers {
            guard let number = root[name]?.count else { return nil }
            self[keyPath: keyPath] = number
        }
    }

    /// - Throws: ``TransferError``: `.occupied` if there is a file that is not a progress file and would be
    ///   overwritten.
    static func check(_ path: String) throws(TransferError) {
        guard let bytes = try FileOperations.read(path, limit: 1 << 20, whole: false), !bytes.isEmpty else { return }
        guard (try? JSONText(bytes).root)?["changebot"]?.string == "import-progress" else {
            throw TransferError(
                .occupied,
                "\(path) exists and does not contain the progress of an import; choose another --progress-file")
        }
    }

    private static var numbers: [(String, WritableKeyPath<ImportProgress, Int>)] {
        [
            ("pass", \.pass), ("items", \.items), ("inserted", \.counts.inserted),
            ("changed", \.counts.changed), ("unchanged", \.counts.unchanged), ("rejected", \.counts.rejected),
            ("reject_bytes", \.rejects.documentBytes), ("reason_bytes", \.rejects.reasonBytes),
        ]
    }
}

extension ImportProgress {
    /// Facts that show whether a database was recreated during an import.
    struct DatabaseState: Sendable, Equatable {
        /// CouchDB's `instance_start_time`; nil elsewhere.
        var instance: String?
        /// Sync Gateway's newest sequence; nil elsewhere.
        var newest: Int?
    }

    /// Why this is not the database that was written to; nil if there is no such sign.
    func mismatch(with now: DatabaseState) -> DatabaseMismatch? {
        if let instance = database.instance, let other = now.instance, instance != other {
            return DatabaseMismatch(reason: "the database was recreated since then")
        }
        // Each write takes at least one sequence.
        if let newest = database.newest, let other = now.newest {
            let (least, isBeyondAll) = newest.addingReportingOverflow(counts.inserted + counts.changed)
            if other < (isBeyondAll ? .max : least) {
                return DatabaseMismatch(
                    reason: "the database was reset since then", reached: SequenceID(String(isBeyondAll ? .max : least))
                )
            }
        }
        return nil
    }
}

/// What identifies an import: resuming with another input or into another keyspace would lose documents.
struct ImportIdentity: Sendable, Equatable {
    struct Input: Sendable, Equatable {
        /// Size of the input in bytes; 0 if it is not a regular file.
        let size: Int
        /// Time of the last change, in nanoseconds since 1970.
        let changed: Int
        /// SHA-256 of its first MiB.
        let head: String
    }

    let input: Input
    /// The keyspace's URL, without credentials.
    let target: String
    let mode: ImportMode
    /// The mapping's hash; nil if there is none.
    let mapping: String?
    let schema: ImportSettings.Schema?
    let selector: String?
    /// How the input is read; nil in files of earlier versions.
    var reading: Reading?

    struct Reading: Sendable, Equatable {
        /// Nil if it is detected from the name or the content.
        let format: InputFormat?
        let delimiter: CSVDelimiter
    }

    /// What differs, for a message; nil if nothing does.
    func mismatch(with other: ImportIdentity) -> String? {
        if input != other.input { return "the input has changed since" }
        if target != other.target { return "its target was \(target)" }
        if mode != other.mode { return "its --mode was \(mode.rawValue)" }
        if mapping != other.mapping { return "its --map was different" }
        if schema != other.schema { return "its --schema was different" }
        if selector != other.selector { return "its --selector was different" }
        guard let reading, let now = other.reading else { return nil }
        if reading.format != now.format {
            return reading.format.map { "its --format was \($0.rawValue)" } ?? "it had no --format"
        }
        return reading.delimiter == now.delimiter ? nil : "its --delimiter was different"
    }
}

extension ImportIdentity.Reading {
    fileprivate init?(_ progress: JSONValue) {
        guard let delimiter = progress["delimiter"]?.string.flatMap({ CSVDelimiter($0) }) else { return nil }
        self.delimiter = delimiter
        format = progress["format"]?.string.flatMap(InputFormat.init(rawValue:))
    }
}
