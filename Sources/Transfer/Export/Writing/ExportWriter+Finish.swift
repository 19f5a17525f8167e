internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import LosslessJSON

extension ExportWriter {
    static let pieceSize = 256 << 10

    /// Gives the export its form, its name and its manifest, once all documents are there.
    ///
    /// Cancelled or killed at any instant, the next run goes on with what the journal knows.
    func finish() throws -> ExportManifest {
        try flush()
        let output = try lastForm()
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

    /// What documents were written to, if that is all; else another file with what is to be left of them.
    private func lastForm() throws -> ExportOutput {
        let repeated = try repeatedDocuments()
        guard files.isSpooled || !repeated.isEmpty else {
            try files.output.write(framing.closing)
            return files.output
        }
        _ = try files.output.save()
        let second = try files.makeSecond()
        var counts = ExportCounts()
        let count =
            files.isSpooled
            ? try writeTable(to: second) { body in try self.readDocuments(repeated, body) }
            : try writeAgain(to: second, repeated, &counts)
        if files.isSpooled, !repeated.isEmpty { try readDocuments(repeated) { try self.count($0, in: &counts) } }
        if !repeated.isEmpty { correct(counts) }
        journal.manifest.counts.lines = count
        return second
    }

    /// The documents that are in the file more than once, with the place of the last line of each.
    private func repeatedDocuments() throws -> [DocumentID: Int] {
        guard let seen, !seen.repeated.isEmpty, files.canResume || files.isSpooled else { return [:] }
        var last: [DocumentID: Int] = [:]
        var number = 0
        _ = try files.output.save()
        try readLines { line in
            if let id = try Self.document(line).root["_id"]?.string.map({ DocumentID($0) }), seen.mayBeRepeated(id) {
                last[id] = number
            }
            number += 1
        }
        return last
    }

    /// - Returns: How many documents there are.
    private func writeAgain(
        to output: ExportOutput, _ repeated: [DocumentID: Int], _ counts: inout ExportCounts
    ) throws -> Int {
        var framing = DocumentFraming(isArray: framing.isArray)
        var text: [UInt8] = []
        try readDocuments(repeated) { line in
            try count(line, in: &counts)
            framing.begin(&text)
            text.append(contentsOf: line)
            framing.end(&text)
            guard text.count >= Self.pieceSize else { return }
            try output.write(text)
            text.removeAll(keepingCapacity: true)
        }
        try output.write(text)
        try output.write(framing.closing)
        return framing.count
    }

    /// All documents except those that were superseded while the feed was read.
    private func readDocuments(
        _ repeated: [DocumentID: Int], _ body: (ArraySlice<UInt8>) throws -> Void
    ) throws {
        var number = 0
        try readLines { line in
            defer { number += 1 }
            if number.isMultiple(of: 1000) { try Task.checkCancellation() }
            if !repeated.isEmpty {
                let document = try Self.document(line).root
                if let id = document["_id"]?.string, let last = repeated[DocumentID(id)] {
                    guard last == number, !Withdrawal.isOne(document) else { return }
                    // Deleted after it was written.
                    if document["_deleted"]?.bool == true, !settings.tellsOfDeletions { return }
                }
            }
            try body(line)
        }
    }

    private func readLines(_ body: (ArraySlice<UInt8>) throws -> Void) throws {
        var lines = ExportLines(isPacked: files.place.isPacked && !files.isSpooled)
        try files.readDocuments { try lines.read($0, body) }
        try lines.finish(body)
    }

    static func document(_ line: ArraySlice<UInt8>) throws -> JSONText {
        do { return try JSONText(Array(line)) } catch {
            throw TransferError(.invalid, "a document that was written is not JSON: \(error)")
        }
    }
}
