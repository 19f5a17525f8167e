internal import DocumentFlow
internal import Encodings
package import GatewayClient
internal import Locking
package import Logging
internal import Revisions
internal import Rules
internal import ServiceLifecycle

/// `changebot import`: writes the documents of a file to a keyspace.
///
/// Documents are written in the order of the input, several requests at once. With a schema, the whole input is checked
/// first, so that errors are known before anything is written. It is then read once for each order.
///
/// On graceful shutdown it stops reading, waits for the answers to its requests, saves its progress and returns. If it
/// is killed, a run with `--resume` resumes from the last save.
package struct Importer: Service {
    private let gateway: Gateway
    private let settings: ImportSettings
    private let inputs: ImportInputs?
    private let report: ImportReport
    private let logger: Logger
    private let contact: GatewayContact

    /// - Parameters:
    ///   - inputs: The input files, if they are already checked.
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
            report.update { $0.counters.traffic.retries += 1 }
        }
    }

    /// Returns when the whole input is processed, or after a graceful shutdown or cancellation;
    /// `report.state.isStopped` tells which.
    ///
    /// - Throws: `RunError`, ``TransferError``.
    package func run() async throws {
        let isStopped = Locked(false)
        try await withGracefulShutdownHandler {
            do { try await importInput(isStopped) } catch is CancellationError {
                report.logStop(settings, to: logger)
            } catch let error as SourceError {
                throw TransferError(error, settings.path)
            }
        } onGracefulShutdown: {
            isStopped.withLock { $0 = true }
        }
    }

    private func importInput(_ isStopped: Locked<Bool>) async throws {
        let reader = ImportReader(settings, isStopped: isStopped)
        // Check the files before contacting the gateway.
        var checked = inputs
        if checked == nil { checked = try await ImportInputs.check(settings) }
        guard let inputs = checked else { return }
        var settings = settings
        settings.attachments = inputs.attachments
        // Open the input so that a missing file fails before the first request. Each pass opens it again.
        _ = try await reader.begin()
        if inputs.isNamedByManifest, let folder = inputs.attachments {
            logger.info("using the manifest's attachment folder", metadata: [LogKey.attachments: "\(folder)"])
            report.update { $0.attachments = folder }
        }
        let input = try await reader.fingerprint()
        let progressPath = settings.preview == nil ? settings.progressPath : nil
        let lock = try progressPath.map { path throws(TransferError) in try ImportLock(path) }
        defer { withExtendedLifetime(lock) {} }
        let info = try await cancelWhenGracefulShutdown { try await contact.connect(to: gateway) }
        if settings.schema != nil { try await reader.spool() }
        let identity = ImportIdentity(
            input: input, target: gateway.url.description, mode: settings.mode,
            mapping: settings.mapping?.hash, schema: settings.schema, selector: settings.selector,
            reading: .init(format: settings.format, delimiter: settings.delimiter))
        let (progress, isResumed) = try await beginning(identity, databaseState(info))
        let rejects =
            try settings.preview == nil
            ? settings.rejectPath.map { try RejectFiles($0, input: settings.path, from: progress.rejects) } : nil
        let journal = try ImportJournal(
            progress, at: progressPath, rejects: rejects, settings: settings,
            report: report, logger: logger)
        let run = ImportRun(
            settings: settings, reader: reader, admission: DocumentAdmission(settings, gateway: gateway),
            writer: makeWriter(settings, isResumed: isResumed, info.newestSequence), journal: journal, report: report,
            isStopped: isStopped, blobs: BlobMessages(logger), beginning: progress)
        try await carryOut(run)
        try await finish(journal, reader, isStopped: isStopped.withLock { $0 })
    }

    // MARK: - Where the run starts

    /// Where the run starts.
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
                // This run does not depend on the check.
                logger.debug(
                    "can't check whether an earlier import was interrupted", metadata: [LogKey.reason: "\(error)"])
            }
        }
        guard settings.isResuming, let path = settings.progressPath, let bytes = try FileOperations.read(path) else {
            // The earlier run may have finished and removed the file just before it was killed.
            return (new, settings.isResuming)
        }
        guard let progress = ImportProgress(bytes) else {
            throw TransferError(.foreign, "\(path) is not the progress file of an import; start again without --resume")
        }
        if let mismatch = try await mismatch(with: progress, identity, database) {
            throw TransferError(
                .foreign, "\(path) belongs to another import: \(mismatch); start again without --resume")
        }
        logger.notice("continuing an interrupted import", metadata: [LogKey.documents: "\(progress.input.documents)"])
        // A check is cheap and therefore starts over.
        return (progress.pass == 0 && settings.schema != nil ? new : progress, true)
    }

    /// Warns a user who repeats an interrupted import that it could be resumed.
    private func warnAboutUnfinished(
        _ identity: ImportIdentity, _ database: ImportProgress.DatabaseState
    ) async throws {
        guard let path = settings.progressPath, let bytes = try FileOperations.read(path),
            let progress = ImportProgress(bytes), try await mismatch(with: progress, identity, database) == nil
        else { return }
        logger.warning(
            settings.mode == .insert
                ? "an import of this input was interrupted: this run starts over, and documents that exist are rejected; use --resume to continue"
                : "an import of this input was interrupted: this run starts over; use --resume to continue",
            metadata: [LogKey.documents: "\(progress.input.documents)"])
    }

    /// Why a progress file does not belong to this import; nil if it does.
    private func mismatch(
        with progress: ImportProgress, _ identity: ImportIdentity, _ database: ImportProgress.DatabaseState
    ) async throws -> String? {
        if let mismatch = progress.identity.mismatch(with: identity) { return mismatch }
        return try await databaseCheck.confirm(progress.mismatch(with: database))
    }

    // MARK: - Writing, and the end

    private func makeWriter(
        _ settings: ImportSettings, isResumed: Bool, _ newest: SequenceID?
    ) -> ImportWriter {
        ImportWriter(
            gateway: gateway, settings: settings, isResumed: isResumed, newestSequenceAtStart: newest,
            progress: RunProgress(start: .start), pace: WritePace(),
            reading: AttachmentReading(settings.attachments.map { AttachmentStore($0) }), contact: contact,
            logger: logger)
    }

    /// Writes the documents. Saves the progress even after an error.
    private func carryOut(_ run: ImportRun) async throws {
        do { try await run.run() } catch {
            try? await run.journal.save()
            if error is SourceError { try? await run.journal.end() }
            guard error is CancellationError || error is RunIsStopping else {
                report.logFailure(to: logger)
                throw error
            }
            run.isStopped.withLock { $0 = true }
        }
    }

    private func finish(_ journal: ImportJournal, _ reader: ImportReader, isStopped: Bool) async throws {
        try await journal.save()
        if isStopped { return report.logStop(settings, to: logger) }
        do throws(TransferError) { try await checkDatabase(journal) } catch {
            report.logFailure(to: logger)
            throw error
        }
        try await journal.complete()
        if report.state.counters.changes == 0 {
            // An export of an empty database can be imported again, so this is no error.
            let emptiness = await reader.emptiness
            logger.notice(
                "the input has no documents; if that is wrong, check the program that wrote it",
                metadata: [LogKey.file: "\(settings.path)", LogKey.reason: "it \(emptiness)"])
        }
        if report.state.counters.changes > 0, report.state.counts.settled == 0, settings.filter != nil {
            logger.notice(
                settings.mapping == nil
                    ? "no document of the input matches the selector"
                    : "no document of the input is left: the selector matches none, or the mapping drops all",
                metadata: [LogKey.file: "\(settings.path)"])
        }
        report.logDone(to: logger)
    }

    /// Checks that the database was not reset during the import, which would have lost the writes.
    ///
    /// - Throws: ``TransferError``: `.foreign` if it was.
    private func checkDatabase(_ journal: ImportJournal) async throws(TransferError) {
        guard settings.preview == nil else { return }
        let progress = await journal.progress
        try await databaseCheck.checkAtEnd(progress.sample) { info in progress.mismatch(with: databaseState(info)) }
    }

    /// The state that shows later whether the database was recreated.
    private func databaseState(_ info: DatabaseInfo) -> ImportProgress.DatabaseState {
        let keepsInstance = gateway.dialect.keepsInstance
        return ImportProgress.DatabaseState(
            instance: keepsInstance ? info.instance : nil,
            newest: keepsInstance ? nil : info.newestSequence.flatMap { Int($0.description) })
    }

    private var databaseCheck: DatabaseCheck { DatabaseCheck(gateway: gateway, contact: contact) }
}

extension TransferError {
    /// Converts an input error to an error of the import.
    init(_ error: SourceError, _ path: String) {
        if case .unreadable(let reason) = error.reason {
            self.init(.missing, "can't read \(path): \(reason)")
        } else {
            self.init(.invalid, "\(path): \(error)")
        }
    }
}
