internal import Logging

/// Writes the documents of an export once more, into a second file: as a table, or without those that were superseded.
struct ExportRewrite {
    let settings: ExportSettings
    let files: ExportFiles
    let attachments: AttachmentExport?
    let logger: Logger

    /// Whether the file that was written first can't become the export.
    func isNeeded(for documents: WrittenDocuments) -> Bool { files.isSpooled || documents.hasSuperseded }

    /// - Parameter tally: Gets the counts of the lines that remain.
    /// - Returns: The second file.
    func write(_ documents: WrittenDocuments, correcting tally: ExportTally) throws -> ExportOutput {
        _ = try files.output.save()
        let second = try files.makeSecond()
        if files.isSpooled {
            let count = try ExportTable(settings.table, logger: logger).write(documents, to: second)
            if documents.hasSuperseded { tally.correct(try recount(documents)) }
            tally.setLines(count)
        } else {
            tally.correct(try writeLines(documents, to: second))
        }
        return second
    }

    private func recount(_ documents: WrittenDocuments) throws -> ExportCounts {
        var recount = ExportRecount(attachments)
        try documents.read { try recount.count($0) }
        return recount.counts
    }

    /// - Returns: The counts of the lines written.
    private func writeLines(_ documents: WrittenDocuments, to output: ExportOutput) throws -> ExportCounts {
        var recount = ExportRecount(attachments)
        var framing = DocumentFraming(isArray: settings.format.isArray)
        var text: [UInt8] = []
        try documents.read { line in
            try recount.count(line)
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
