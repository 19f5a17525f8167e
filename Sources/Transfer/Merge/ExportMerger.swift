internal import DocumentFlow
internal import Encodings
internal import GatewayClient
package import Logging
internal import LosslessJSON
package import Revisions

/// `changebot export merge`: makes one full export of a full export and its increments, without a gateway.
///
/// Reads the newest export first, and of each document only the version in the newest export that has it. Memory grows
/// only with the number of documents in the increments: 16 bytes for each.
package struct ExportMerger: Sendable {
    /// What to merge, and how.
    package struct Settings: Sendable {
        /// One full export, and increments in any order.
        package var inputs: [String]
        /// Where to end. Nil: with the newest export.
        package var limit: ExportChain.Limit?
        /// The folder for the attachments of the merged export. Nil: the folder of all inputs.
        package var attachments: String?
        /// That folder if `attachments` is nil and the inputs have several. Nil: then they are refused.
        package var gatheredAttachments: String?
        /// Whether an existing file may be replaced. Default: false.
        package var overwrites = false
        /// Name and version of the program, for the manifest.
        package var tool: String

        package init(inputs: [String], tool: String) { (self.inputs, self.tool) = (inputs, tool) }
    }

    private let settings: Settings
    private let place: ExportPlace
    private let chain: ExportChain
    private let attachments: MergedAttachments?
    private let logger: Logger

    /// Reads the manifests and checks that the exports belong together. Writes nothing.
    ///
    /// - Throws: ``TransferError``: `.usage`, `.missing`, `.invalid`; `.foreign` for an export of another database, and
    ///   for a missing increment; `.occupied`.
    package init(_ settings: Settings, to place: ExportPlace, logger: Logger) throws(TransferError) {
        self.settings = settings
        self.place = place
        self.logger = logger
        chain = try ExportChain(settings.inputs, until: settings.limit)
        attachments = try MergedAttachments(
            chain, to: settings.attachments, orGatheredIn: settings.gatheredAttachments)
        try checkOutput()
    }

    /// - Throws: ``TransferError``: `.usage`; `.occupied` if the output exists, or the progress of an interrupted export.
    private func checkOutput() throws(TransferError) {
        if ExportEncryption.program(ofFileNamed: place.path) != nil {
            throw TransferError(
                .usage, "--output \(place.path): a merged export is not encrypted; choose a name for a plain file")
        }
        if InputFormat(fileName: place.path)?.isTable == true || ForeignFormat(fileName: place.path) != nil {
            throw TransferError(
                .usage, "--output \(place.path): exports are merged into ndjson or json; choose another name")
        }
        guard place.kind == .file, !settings.overwrites else { return }
        if FileOperations.exists(place.path) {
            throw TransferError(
                .occupied, "\(place.path) exists and is not replaced; choose another --output, or give --overwrite")
        }
        _ = try ExistingExport(place, isResuming: false)
        if ExportLeftovers(place).canBeResumed {
            throw TransferError(
                .occupied,
                "\(place.part) is an interrupted export: finish it with export --resume, choose another --output, or give "
                    + "--overwrite")
        }
    }

    /// Writes the merged export and its manifest. If it fails or is cancelled, nothing is left of it.
    ///
    /// - Returns: The manifest.
    /// - Throws: ``TransferError``; `CancellationError`.
    @discardableResult
    package func run() async throws -> ExportManifest {
        let files = try ExportFiles(place, isSpooled: false)
        let leftovers = ExportLeftovers(place)
        defer { leftovers.removeUnsaved() }
        var journal = ExportJournal(manifest: manifest)
        if files.canResume {
            files.removeJournal()
            _ = try files.output.truncate(to: ExportOutput.SavePoint())
            // Marks the unfinished file as one that may be removed.
            try FileOperations.write(journal.json, to: place.journal)
        }
        try attachments?.create()
        journal.manifest.counts = try await write(to: files.output)
        let saved = try files.output.finish()
        attachments?.sync()
        journal.manifest.byteCount = saved.byteCount
        journal.manifest.sha256 = saved.sha256
        journal.manifest.ended = Timestamp.now
        journal.saved = saved
        if files.canResume {
            journal.position = .whole
            try FileOperations.write(journal.json, to: place.journal)
            try files.complete(journal, from: place.part)
        }
        report(journal.manifest)
        return journal.manifest
    }

    /// The manifest of the merged export: that of a full export which began with the newest increment.
    private var manifest: ExportManifest {
        var manifest = chain.newest.manifest
        manifest.tool = settings.tool
        manifest.source = chain.full.manifest.source
        manifest.from = nil
        manifest.options = chain.full.manifest.options
        manifest.options.format = InputFormat(fileName: place.path) == .json ? .json : .ndjson
        manifest.options.isCompressed = place.isCompressed
        if let folder = attachments?.folder { manifest.options.attachments = .folder(folder) }
        manifest.resumed = 0
        manifest.ended = ""
        return manifest
    }

    // MARK: - Documents

    private func write(to output: ExportOutput) async throws -> ExportCounts {
        var merged = MergedDocuments(
            isArray: manifest.options.format == .json, keepsTombstones: manifest.options.includesRevisions)
        let removesVersions = chain.full.manifest.source == .pages
        var buffer: [UInt8] = []
        for (index, file) in chain.files.enumerated().reversed() {
            let measured = try await file.readLines { line in
                let document: JSONText
                do { document = try line.document.get() } catch {
                    throw Self.damaged(file, "document \(line.number) is not JSON: \(error)")
                }
                guard let id = document.root["_id"]?.string else {
                    throw Self.damaged(file, "document \(line.number) has no _id")
                }
                let listed = removesVersions ? Self.withoutVersion(document) : document
                guard merged.take(listed, id, isLast: index == 0, into: &buffer) else { return }
                try attachments?.provide(for: document.root, from: index, of: file)
                if buffer.count >= ExportOutput.pieceSize {
                    try output.write(buffer)
                    buffer.removeAll(keepingCapacity: true)
                }
            }
            try Self.check(measured, of: file)
            merged.endFile()
        }
        try output.write(buffer + merged.closing)
        var counts = merged.counts
        counts.unreadable = chain.files.reduce(0) { $0 + $1.manifest.counts.unreadable }
        counts.missingBodies = merged.counts.attachments - merged.counts.bodies
        if case .none = manifest.options.attachments { counts.missingBodies = 0 }
        return counts
    }

    /// The document as `_all_docs` returns it. Sync Gateway 4 adds `_cv` only in the feed, where increments are read.
    private static func withoutVersion(_ document: JSONText) -> JSONText {
        guard document.root["_cv"] != nil else { return document }
        return (try? document.removing(JSONPointer(tokens: ["_cv"]))) ?? document
    }

    /// - Throws: ``TransferError``: `.invalid` if the file is not what its manifest says.
    private static func check(_ measured: ExportFile.FileMeasurements, of file: ExportFile) throws(TransferError) {
        if let error = measured.frameError { throw damaged(file, error) }
        guard measured.sha256 != file.manifest.sha256 else { return }
        throw damaged(file, "its SHA-256 is not that of its manifest")
    }

    private static func damaged(_ file: ExportFile, _ reason: String) -> TransferError {
        TransferError(
            .invalid, "\(file.path) is damaged: \(reason); `changebot verify \(file.path.shellWord)` says more")
    }

    private func report(_ manifest: ExportManifest) {
        for path in chain.superseded {
            logger.notice("not used: the full export was made later", metadata: [LogKey.file: "\(path)"])
        }
        if let warning = chain.warning { logger.warning("\(warning)") }
        if manifest.counts.unreadable > 0 {
            logger.warning(
                "the exports lack documents that could not be read; the merged export has their earlier versions, if any",
                metadata: [LogKey.documents: "\(manifest.counts.unreadable)"])
        }
        logger.info(
            "merged",
            metadata: [
                LogKey.documents: "\(manifest.counts.lines)", LogKey.bytes: "\(manifest.byteCount)",
                "exports": "\(chain.files.count)", LogKey.to: "\(manifest.to.map(\.description) ?? "")",
            ])
    }
}
