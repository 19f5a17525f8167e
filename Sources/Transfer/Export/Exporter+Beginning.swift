internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Logging
internal import LosslessJSON

extension Exporter {
    struct Beginning {
        var journal: ExportJournal
        /// The ids that an interrupted run has written; nil unless the feed is read.
        var seen: SeenDocuments?
    }

    /// Decides where to begin and prepares the files for it. Nil if an interrupted run had only the final rename left,
    /// which is done here.
    func begin(_ files: ExportFiles, _ facts: DatabaseFacts) async throws -> Beginning? {
        let (since, sample) = try await origin(facts)
        var manifest = ExportManifest(
            facts: facts, options: ExportOptions(settings, since: since, isCompressed: place.isCompressed))
        manifest.facts.sample = sample
        manifest.tool = settings.tool
        manifest.started = Timestamp.now
        manifest.from = since
        // The node that answers may be behind the one that answered then.
        if let since, manifest.to?.hasPassed(since) == false { manifest.to = since }
        if settings.includesRevisions {
            manifest.source = .revisions
        } else if since != nil || settings.channels != nil {
            manifest.source = .feed
        }
        let found = settings.isResuming && files.canResume ? try ExportJournal.read(place.journal) : nil
        if let found { try await check(found, manifest) }
        try await files.existing?.check(for: manifest, isResuming: settings.isResuming, databaseCheck)
        if let found {
            if found.position == .whole, let name = try files.whole(found) {
                try files.complete(found, from: name)
                logger.info("the export was complete except for its name")
                report(found)
                return nil
            }
            if let beginning = try resume(files, found) { return beginning }
            logger.warning("the partial output is missing; starting over")
        }
        try files.existing?.restoreManifest()
        files.removeJournal()
        if files.canResume || files.isSpooled { _ = try files.output.truncate(to: ExportOutput.SavePoint()) }
        report.update { $0.lastSequence = manifest.to }
        let journal = ExportJournal(manifest: manifest)
        // Before the first byte is written, so that after a kill the leftovers can be recognised.
        if files.canResume { try WholeFile.write(journal.json, to: place.journal) }
        return Beginning(
            journal: journal, seen: manifest.source == .feed ? SeenDocuments() : nil)
    }

    /// - Throws: ``TransferError``: `.foreign`; `RunError` if the database was reset.
    private func check(_ found: ExportJournal, _ manifest: ExportManifest) async throws {
        guard found.manifest.options == manifest.options else {
            throw TransferError(
                .foreign,
                "\(place.journal) belongs to an export with other options; give the same options, or run without --resume"
            )
        }
        let (before, now) = (found.manifest.facts, manifest.facts)
        guard before.isOfSameServer(as: now) else {
            throw TransferError(
                .foreign, "\(place.journal) belongs to \(before.gateway), not to \(now.gateway); run without --resume")
        }
        if let objection = try await databaseCheck.confirm(before.objection(against: now)) {
            throw RunError(
                .databaseReset, "the interrupted export can't be continued: \(objection); run without --resume")
        }
    }

    private func resume(_ files: ExportFiles, _ found: ExportJournal) throws -> Beginning? {
        var journal = found
        var seen = found.manifest.source == .feed ? SeenDocuments() : nil
        var lines = DocumentSplitter(isCompressed: place.isCompressed && !files.isSpooled)
        let isThere = try files.output.truncate(to: found.saved) { bytes in
            guard seen != nil else { return }
            try lines.read(bytes) { line in
                guard let document = try? JSONText(Array(line)).root, let id = document["_id"]?.string else { return }
                if GeneratedLine.isWithdrawal(document) || document["_deleted"]?.bool == true {
                    seen?.noteRepeated(DocumentID(id))
                } else {
                    seen?.note(DocumentID(id))
                }
            }
        }
        guard isThere else { return nil }
        journal.manifest.resumed += 1
        report(journal)
        logger.info(
            "continuing an interrupted export", metadata: [LogKey.documents: "\(journal.manifest.counts.lines)"])
        return Beginning(journal: journal, seen: seen)
    }

    private func report(_ journal: ExportJournal) {
        report.update { state in
            state.lastSequence = journal.manifest.to
            state.resumedAt = journal.manifest.counts.lines
            state.counters.deadLetters = journal.manifest.counts.unreadable + journal.manifest.counts.missingBodies
        }
    }

    /// The sequence at which an incremental export begins, and documents of the database.
    ///
    /// - Throws: ``TransferError`` if the manifest can't be continued from; `RunError` if the database was reset.
    private func origin(_ facts: DatabaseFacts) async throws -> (since: SequenceID?, DatabaseSample) {
        switch settings.since {
        case nil: return (nil, DatabaseSample())
        case .sequence(let sequence):
            if let newest = facts.newest, newest.hasPassed(sequence) == false {
                throw RunError(
                    .databaseReset,
                    "--since \(sequence.queryValue): the newest sequence is \(newest.queryValue); was the database reset? Make a full export"
                )
            }
            return (sequence, DatabaseSample())
        case .manifest(let path):
            let earlier = try ExportManifest.read(path)
            guard let to = earlier.to else {
                throw TransferError(
                    .invalid, "\(path) does not name the last sequence of its export; make a full export")
            }
            if let objection = try await databaseCheck.confirm(earlier.facts.objection(against: facts)) {
                throw RunError(.databaseReset, "can't continue from \(path): \(objection); make a full export")
            }
            if let warning = earlier.facts.warning(about: facts) {
                logger.warning("\(warning)", metadata: ["manifest": "\(path)"])
            }
            return (to, DatabaseSample(after: earlier.facts.sample))
        }
    }
}
