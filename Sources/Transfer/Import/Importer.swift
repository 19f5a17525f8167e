internal import DocumentFlow
package import GatewayClient
internal import Locking
package import Logging
internal import Rules
internal import ServiceLifecycle

/// `changebot import`: writes the documents of a file to a keyspace.
///
/// Documents are written in the order of the input, several requests at once. With a schema the input is first checked
/// as a whole, so that errors are known before anything is written, and then read once for each order.
///
/// On graceful shutdown it stops reading, waits for the answers to its requests, saves its progress and returns. If it
/// is killed, a run with `--resume` resumes from the last save.
package struct Importer: Service {
    let gateway: Gateway
    let settings: ImportSettings
    private let inputs: ImportInputs?
    private let report: ImportReport
    let logger: Logger
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
        _ = try await reader.begin()
        if inputs.isNamedByManifest, let folder = inputs.attachments {
            logger.info("the manifest names the folder of the attachments", metadata: ["attachments": "\(folder)"])
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
            isStopped: isStopped, beginning: progress)
        do { try await run.run() } catch {
            // Save what was written, whatever the error.
            try? await journal.save()
            if error is SourceError { try? await journal.end() }
            guard error is CancellationError || error is RunIsStopping else {
                report.logFailure(to: logger)
                throw error
            }
            isStopped.withLock { $0 = true }
        }
        try await finish(journal, isStopped: isStopped.withLock { $0 })
    }

    private func makeWriter(
        _ settings: ImportSettings, isResumed: Bool, _ newest: SequenceID?
    ) -> ImportWriter {
        ImportWriter(
            gateway: gateway, settings: settings, isResumed: isResumed, newestAtStart: newest,
            progress: RunProgress(start: .start), pace: WritePace(),
            reading: AttachmentReading(settings.attachments.map { AttachmentStore($0) }), contact: contact,
            logger: logger)
    }

    private func finish(_ journal: ImportJournal, isStopped: Bool) async throws {
        try await journal.save()
        if isStopped { return report.logStop(settings, to: logger) }
        do throws(TransferError) { try await checkDatabase(journal) } catch {
            report.logFailure(to: logger)
            throw error
        }
        try await journal.complete()
        report.logDone(to: logger)
    }

    /// Checks that the database was not reset during the import, which would have lost what was written.
    ///
    /// - Throws: ``TransferError``: `.foreign` if it was.
    private func checkDatabase(_ journal: ImportJournal) async throws(TransferError) {
        guard settings.preview == nil else { return }
        let progress = await journal.progress
        try await databaseCheck.checkAtEnd(progress.sample) { info in progress.objection(to: databaseState(info)) }
    }

    var databaseCheck: DatabaseCheck { DatabaseCheck(gateway: gateway, contact: contact) }
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
