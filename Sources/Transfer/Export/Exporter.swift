internal import DocumentFlow
package import GatewayClient
package import Logging
internal import LosslessJSON
internal import ServiceLifecycle

/// `changebot export`: writes the documents of a keyspace to a file.
///
/// Full exports read pages of `_all_docs`: each document once, in order of id, and with a certain end. The feed is read
/// for incremental exports, for channels, and for full exports by users who may not list documents. Histories come from
/// `_bulk_get`.
///
/// On graceful shutdown it stops reading, saves its progress and returns. If it is killed, a run with `--resume`
/// resumes from the last save point.
package struct Exporter: Service {
    let gateway: Gateway
    let settings: ExportSettings
    let place: ExportPlace
    let report: ExportReport
    let logger: Logger
    let contact: GatewayContact

    /// - Parameters:
    ///   - place: Where the export goes.
    ///   - report: Updated during the run.
    package init(
        gateway: Gateway, settings: ExportSettings, place: ExportPlace, report: ExportReport, logger: Logger
    ) {
        self.gateway = gateway
        self.settings = settings
        self.place = place
        self.report = report
        self.logger = logger
        contact = GatewayContact(settings: settings.retries, logger: logger) { report.count { $0.retries += 1 } }
    }

    /// Returns when the export is complete, or after a graceful shutdown or cancellation; `report.state.isStopped`
    /// tells which.
    ///
    /// - Throws: `RunError`, ``TransferError``.
    package func run() async throws {
        let isGuarded = place.kind == .file && !settings.overwrites
        let existing = isGuarded ? try ExistingExport(place, isResuming: settings.isResuming) : nil
        let files = try ExportFiles(place, isSpooled: settings.format.isTable, existing: existing)
        let leftovers = ExportLeftovers(place)
        defer { leftovers.removeUnsaved() }
        do {
            let (facts, total) = try await cancelWhenGracefulShutdown { try await meet() }
            guard let beginning = try await begin(files, facts) else { return }
            if case .folder(let folder) = settings.attachments { try AttachmentStore(folder).create() }
            if beginning.journal.manifest.source == .pages { report.update { $0.expected = total } }
            let attachments = makeAttachmentExport()
            defer { attachments?.removeSpools() }
            let writer = ExportWriter(
                settings: settings, files: files, beginning: beginning, gateway: gateway, contact: contact,
                attachments: attachments, report: report, logger: logger)
            try await write(with: writer, facts)
        } catch is CancellationError {
            report.update { $0.isStopped = true }
        }
    }

    /// Gets the facts about the server and the database once the gateway answers.
    private func meet() async throws -> (DatabaseFacts, documents: Int?) {
        let info = try await contact.first { try await gateway.databaseInfo() }
        try await contact.findDialect(of: gateway)
        try gateway.check(channels: settings.channels)
        // Proxies may hide the server's root page, so nothing depends on it.
        let server = try? await gateway.serverInfo()
        logger.info("connected", metadata: ["gateway": "\(gateway.url)", "dialect": "\(gateway.dialect.rawValue)"])
        return (DatabaseFacts(gateway, info, server), info.documentCount)
    }

    var databaseCheck: DatabaseCheck { DatabaseCheck(gateway: gateway, contact: contact) }

    private func makeAttachmentExport() -> AttachmentExport? {
        let store: AttachmentStore?
        switch settings.attachments {
        case .none: return nil
        case .inline: store = nil
        case .folder(let folder): store = AttachmentStore(folder)
        }
        return AttachmentExport(
            fetcher: AttachmentFetcher(gateway: gateway, contact: contact), store: store, output: place.path,
            temporaryDirectory: place.temporaryDirectory, takesCurrent: !settings.includesRevisions)
    }

    private func write(with writer: ExportWriter, _ facts: DatabaseFacts) async throws {
        do {
            let manifest = try await cancelWhenGracefulShutdown {
                try await read(into: writer, facts)
                // If the database was reset meanwhile, the manifest would pair documents of the old one with a sequence
                // of the new one.
                let sample = await writer.sample
                try await databaseCheck.checkAtEnd(sample) { facts.objection(afterwards: $0) }
                return try await writer.finish()
            }
            logger.info(
                "exported",
                metadata: [
                    "documents": "\(manifest.counts.lines)", "bytes": "\(manifest.byteCount)",
                    "to": "\(manifest.to.map(\.description) ?? "")",
                ])
        } catch is CancellationError {
            try await writer.save()
            logger.notice(
                place.kind == .file
                    ? "stopped before the end; continue with --resume"
                    : "stopped before the end: the output is incomplete")
            throw CancellationError()
        } catch let failure as RunError {
            // Keep what was read, whatever the gateway does.
            try? await writer.save()
            throw failure
        }
    }
}
