internal import DocumentFlow
internal import Encodings
package import GatewayClient
internal import Locking
package import Logging
internal import Rules
internal import ServiceLifecycle
internal import TodoData

/// `changebot import`: writes the documents of a file to a keyspace.
///
/// Documents are written in the order of the input, several requests at once. With a schema the input is first checked
/// as a whole, so that errors are known before anything is written, and then read once for each order.
///
/// On graceful shutdown it stops reading, waits for the answers to its requests, saves its progress and returns. If it
/// is killed, a run with `--resume` resumes from the last save.
package struct Importer: Service {
    private let gateway: Gateway
    private var settings: ImportSettings
    private let inputs: ImportInputs?
    private let report: ImportReport
    private let logger: Logger
    private let contact: GatewayContact

    /// - Parameters:
    ///   - inputs: The input files, if they are checked already.
    ///   - report: Updated during the run.
    package init(
        gateway: Gateway, settings: ImportSettings, inputs: ImportInputs? = nil, report: ImportReport, logger: Logger
    ) {
        self.gateway = gateway
        self.settings = settings
        self.inputs = inputs
        self.report = report
        self.logger = logger
        contact = GatewayContact(settings: settings.retries, logger: logger) {
            report.update { $0.counters.retries += 1 }
        }
    }

    /// Returns when the whole input is processed, or after a graceful shutdown or cancellation;
    /// `report.state.isStopped` tells which.
    ///
    /// - Throws: `RunError`, ``TransferError``.
    package func run() async throws {
        let isStopped = Locked(false)
        try await withGracefulShutdownHandler {
            do { try await work(isStopped) } catch is CancellationError {
                report.update { $0.isStopped = true }
            } catch let error as SourceError {
                throw TransferError(error, settings.path)
            }
        } onGracefulShutdown: {
            isStopped.withLock { $0 = true }
        }
    }

    private func work(_ isStopped: Locked<Bool>) async throws {
        let reader = ImportReader(settings, isStopped: isStopped)
        // Check the files before contacting the gateway.
        let inputs = try inputs ?? ImportInputs(settings)
        _ = try await reader.begin()
        if inputs.isNamedByManifest, let folder = inputs.attachments {
            logger.info("the manifest names the folder of the attachments", metadata: ["attachments": "\(folder)"])
            report.update { $0.attachments = folder }
        }
        var prepared = self
        prepared.settings.attachments = inputs.attachments
        try await prepared.work(reader, isStopped)
    }

    private func work(_ reader: ImportReader, _ isStopped: Locked<Bool>) async throws {
        let input = try await reader.fingerprint()
        let progressPath = settings.preview == nil ? settings.progressPath : nil
        let lock = try progressPath.map { path throws(TransferError) in try ImportLock(path) }
        defer { withExtendedLifetime(lock) {} }
        let (database, newest) = try await cancelWhenGracefulShutdown { try await meet() }
        if settings.schema != nil { try await reader.keep() }
        let identity = ImportIdentity(
            input: input, target: gateway.url.description, mode: settings.mode,
            mapping: settings.mapping?.hash, schema: settings.schema, selector: settings.selector,
            reading: .init(format: settings.format, delimiter: settings.delimiter))
        let (progress, isResumed) = try await beginning(identity, database)
        let rejects =
            try settings.preview == nil
            ? settings.rejectPath.map { try RejectFiles($0, input: settings.path, from: progress.rejects) } : nil
        let journal = try ImportJournal(
            progress, at: progressPath, rejects: rejects, settings: settings,
            report: report, logger: logger)
        let run = ImportRun(
            settings: settings, reader: reader, admission: DocumentAdmission(settings, gateway: gateway),
            writer: writer(isResumed: isResumed, newest), journal: journal, report: report, isStopped: isStopped,
            beginning: progress)
        do { try await run.run() } catch {
            // Save what was written, whatever the error.
            try? await journal.save()
            if error is SourceError { try? await journal.end() }
            guard error is CancellationError || error is RunIsStopping else {
                logCounts()
                throw error
            }
            isStopped.withLock { $0 = true }
        }
        try await finish(journal, isStopped: isStopped.withLock { $0 })
    }

    /// - Returns: What identifies the database, and its newest sequence.
    private func meet() async throws -> (ImportProgress.DatabaseState, SequenceID?) {
        let info = try await contact.first { try await gateway.databaseInfo() }
        try await contact.findDialect(of: gateway)
        logger.info("connected", metadata: ["gateway": "\(gateway.url)", "dialect": "\(gateway.dialect.rawValue)"])
        return (databaseState(info), info.newestSequence)
    }

    private func databaseState(_ info: DatabaseInfo) -> ImportProgress.DatabaseState {
        let keepsInstance = gateway.dialect.keepsInstance
        return ImportProgress.DatabaseState(
            instance: keepsInstance ? info.instance : nil,
            newest: keepsInstance ? nil : info.newestSequence.flatMap { Int($0.description) })
    }

    /// Checks that the database was not reset during the import, which would have lost what was written.
    ///
    /// - Throws: ``TransferError``: `.foreign` if it was.
    private func checkDatabase(_ journal: ImportJournal) async throws(TransferError) {
        guard settings.preview == nil else { return }
        let progress = await journal.progress
        try await databaseCheck.checkAtEnd(progress.sample) { info in progress.objection(to: databaseState(info)) }
    }

    private var databaseCheck: DatabaseCheck { DatabaseCheck(gateway: gateway, contact: contact) }

    /// Why an interrupted import is not this one; nil if it is.
    private func objection(
        to progress: ImportProgress, _ identity: ImportIdentity, _ database: ImportProgress.DatabaseState
    ) async throws -> String? {
        if let objection = progress.identity.objection(to: identity) { return objection }
        return try await databaseCheck.confirm(progress.objection(to: database))
    }

    /// Where the run begins.
    ///
    /// - Throws: ``TransferError``: `.foreign` if the progress file belongs to another import; `RunError` if the gateway
    ///   does not answer, `CancellationError`.
    private func beginning(
        _ identity: ImportIdentity, _ database: ImportProgress.DatabaseState
    ) async throws -> (ImportProgress, isResumed: Bool) {
        var new = ImportProgress(identity, now: Timestamp.secondsNow)
        new.database = database
        if !settings.isResuming, settings.preview == nil {
            do { try await warnAboutUnfinished(identity, database) } catch let error as RunError {
                // This run does not depend on it.
                logger.debug("the interrupted import was not looked at", metadata: ["reason": "\(error)"])
            }
        }
        guard settings.isResuming, let path = settings.progressPath, let bytes = try WholeFile.read(path) else {
            // The earlier run may have finished and removed the file just before it was killed.
            return (new, settings.isResuming)
        }
        guard let progress = ImportProgress(bytes) else {
            throw TransferError(.foreign, "\(path) is not the progress file of an import; start again without --resume")
        }
        if let objection = try await objection(to: progress, identity, database) {
            throw TransferError(
                .foreign, "\(path) belongs to another import: \(objection); start again without --resume")
        }
        logger.notice("continuing an interrupted import", metadata: ["documents": "\(progress.input.documents)"])
        // A check is cheap and starts over.
        return (progress.pass == 0 && settings.schema != nil ? new : progress, true)
    }

    /// Warns a user who repeats an interrupted import that it could be resumed.
    private func warnAboutUnfinished(
        _ identity: ImportIdentity, _ database: ImportProgress.DatabaseState
    ) async throws {
        guard let path = settings.progressPath, let bytes = try WholeFile.read(path),
            let progress = ImportProgress(bytes), try await objection(to: progress, identity, database) == nil
        else { return }
        let consequence = settings.mode == .insert ? ", and documents that exist are rejected" : ""
        logger.warning(
            "an import of this input was interrupted: --resume continues it; now it starts from the beginning\(consequence)",
            metadata: ["documents": "\(progress.input.documents)"])
    }

    private func writer(isResumed: Bool, _ newest: SequenceID?) -> ImportWriter {
        ImportWriter(
            gateway: gateway, settings: settings, isResumed: isResumed, newestAtStart: newest,
            progress: RunProgress(start: .start), pace: WritePace(),
            reading: AttachmentReading(settings.attachments.map { AttachmentStore($0) }), contact: contact,
            logger: logger)
    }

    private func finish(_ journal: ImportJournal, isStopped: Bool) async throws {
        if isStopped {
            try await journal.save()
            report.update { $0.isStopped = true }
            logCounts()
            logger.notice(
                settings.progressPath == nil
                    ? "stopped before the end" : "stopped before the end; continue with --resume")
            return
        }
        try await journal.save()
        do throws(TransferError) { try await checkDatabase(journal) } catch {
            logCounts()
            throw error
        }
        try await journal.complete()
        logCounts()
    }

    /// Logs what was done, however the run ended.
    private func logCounts() {
        let counts = report.state.counts
        logger.info(
            settings.preview == nil ? "imported" : "checked",
            metadata: [
                "documents": "\(report.state.counters.changes)", "inserted": "\(counts.inserted)",
                "changed": "\(counts.changed)", "deleted": "\(counts.deleted)", "unchanged": "\(counts.unchanged)",
                "rejected": "\(counts.rejected)",
            ])
    }
}

/// The passes of one import, one after the other.
struct ImportRun {
    let settings: ImportSettings
    let reader: ImportReader
    let admission: DocumentAdmission
    let writer: ImportWriter
    let journal: ImportJournal
    let report: ImportReport
    let isStopped: Locked<Bool>
    let beginning: ImportProgress

    /// - Throws: `SourceError`, after the last pass, if the input could not be read to its end.
    func run() async throws {
        var failure: SourceError?
        var orders = Set(0..<TodoSchema.orderCount)
        for (pass, purpose) in passes.enumerated() where pass >= beginning.pass {
            if case .order(let order) = purpose, !orders.contains(order) { continue }
            try await journal.begin(pass: pass)
            var going = ImportPass(purpose, from: await journal.progress.items, of: self)
            if let error = try await going.run() { failure = error }
            if isStopped.withLock({ $0 }) { return }
            if purpose == .check {
                orders = going.orders
                try await journal.check(isFinal: true)
            }
        }
        if let failure {
            try await journal.save()
            throw failure
        }
    }

    private var passes: [ImportPass.Purpose] {
        guard settings.schema != nil else { return [.all] }
        return [.check] + (0..<TodoSchema.orderCount).map { .order($0) }
    }
}

extension TransferError {
    /// The error of an input as the error of the import.
    init(_ error: SourceError, _ path: String) {
        if case .unreadable(let reason) = error.reason {
            self.init(.missing, "can't read \(path): \(reason)")
        } else {
            self.init(.invalid, "\(path): \(error)")
        }
    }
}
