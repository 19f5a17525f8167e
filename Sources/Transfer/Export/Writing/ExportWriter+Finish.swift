internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import LosslessJSON

extension ExportWriter {
    /// Gives the export its final form, its name and its manifest, once all documents are written.
    ///
    /// If it is cancelled or killed, a later run can resume from the journal.
    func finish() throws -> ExportManifest {
        try flush()
        let output = try lastForm()
        journal.manifest.counts = tally.counts
        let point = try output.finish()
        attachments?.unsynced.sync()
        journal.saved = point
        journal.position = .whole
        journal.replaced = files.existing?.manifest
        journal.manifest.byteCount = point.byteCount
        journal.manifest.sha256 = point.sha256
        journal.manifest.ended = Timestamp.now
        report.count { $0.bytesOut = point.byteCount }
        guard files.canResume else { return journal.manifest }
        try WholeFile.write(journal.json, to: files.place.journal)
        try files.complete(journal, from: output === files.output ? files.documentsPath : files.secondPath)
        return journal.manifest
    }

    /// The file that documents were written to, if it is the final form; otherwise a second file made from it.
    private func lastForm() throws -> ExportOutput {
        let documents = try WrittenDocuments(files, seen: seen, reportsDeletions: settings.reportsDeletions)
        guard files.isSpooled || documents.hasSuperseded else {
            try files.output.write(framing.closing)
            return files.output
        }
        _ = try files.output.save()
        let second = try files.makeSecond()
        if files.isSpooled {
            let count = try ExportTable(settings.table, logger: logger).write(documents, to: second)
            if documents.hasSuperseded { tally.correct(try recount(documents)) }
            tally.note(lines: count)
        } else {
            tally.correct(try writeAgain(documents, to: second))
        }
        return second
    }

    private func recount(_ documents: WrittenDocuments) throws -> ExportCounts {
        var recount = ExportRecount(attachments)
        try documents.read { try recount.take($0) }
        return recount.counts
    }

    /// - Returns: The counts of the lines written.
    private func writeAgain(_ documents: WrittenDocuments, to output: ExportOutput) throws -> ExportCounts {
        var recount = ExportRecount(attachments)
        var framing = DocumentFraming(isArray: framing.isArray)
        var text: [UInt8] = []
        try documents.read { line in
            try recount.take(line)
            framing.write(line, to: &text)
            guard text.count >= ExportOutput.pieceSize else { return }
            try output.write(text)
            text.removeAll(keepingCapacity: true)
        }
        try output.write(text)
        try output.write(framing.closing)
        return recount.counts
    }
}
