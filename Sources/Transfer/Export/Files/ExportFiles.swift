/// The files of one export while it is written, locked against other runs.
final class ExportFiles {
    let place: ExportPlace
    /// Where documents are written as they arrive.
    let output: ExportOutput
    /// Whether documents are only collected there first, because the columns of a table depend on all of them.
    let isSpooled: Bool
    /// The file that must be unchanged when the export replaces it; nil if the export may replace anything.
    let existing: ExistingExport?
    private let lock: OpenFile?

    /// - Throws: ``TransferError``: `.cannotCreate`, `.locked`.
    init(_ place: ExportPlace, isSpooled: Bool, existing: ExistingExport? = nil) throws(TransferError) {
        self.place = place
        self.isSpooled = isSpooled
        self.existing = existing
        guard place.kind != .folder else {
            throw TransferError(.cannotCreate, "can't create \(place.path): it is a folder")
        }
        guard place.kind == .file else {
            lock = nil
            let file = isSpooled ? try OpenFile(temporaryIn: place.temporaryDirectory) : try Self.open(place)
            output = ExportOutput(file, isFile: isSpooled, isCompressed: place.isCompressed && !isSpooled)
            return
        }
        let part = try OpenFile(creating: place.part)
        try part.lock()
        lock = part
        output = ExportOutput(
            isSpooled ? try OpenFile(creating: place.spool) : part, isFile: true,
            isCompressed: place.isCompressed && !isSpooled
        )
    }

    /// Opens an output that is not a regular file, and so can't be renamed.
    private static func open(_ place: ExportPlace) throws(TransferError) -> OpenFile {
        place.kind == .standardOutput ? try OpenFile.standardOutput() : try OpenFile(writingTo: place.path)
    }

    var canResume: Bool { place.canResume }

    /// The path of the file that documents are written to.
    var documentsPath: String { isSpooled ? place.spool : place.part }

    /// Another file for the same documents, in another form or without some of them, which becomes the export.
    func makeSecond() throws(TransferError) -> ExportOutput {
        guard place.kind == .file else {
            return ExportOutput(try Self.open(place), isFile: false, isCompressed: place.isCompressed)
        }
        let file = try OpenFile(creating: secondPath)
        try file.truncate(to: 0)
        return ExportOutput(file, isFile: true, isCompressed: place.isCompressed)
    }

    var secondPath: String { isSpooled ? place.part : place.spool }

    /// Reads back all documents that were written.
    func readDocuments(_ body: ([UInt8]) throws -> Void) throws { try output.readAll(body) }

    // MARK: - Finishing

    /// Gives a complete export its name and its manifest. If interrupted, it can be repeated.
    ///
    /// - Parameter name: The path of the complete file.
    func complete(_ journal: ExportJournal, from name: String) throws(TransferError) {
        if name != place.path {
            try existing?.checkUnchanged()
            // Between the two steps the export has no manifest, but never one of another export.
            WholeFile.remove(place.manifest)
            try WholeFile.rename(name, to: place.path)
        }
        try WholeFile.write(journal.manifest.json, to: place.manifest)
        for path in [place.journal, place.part, place.spool] { WholeFile.remove(path) }
    }

    /// The file that the journal says is complete; nil if it is missing or has changed.
    func whole(_ journal: ExportJournal) throws(TransferError) -> String? {
        for name in [place.part, place.spool, place.path] where try Self.holds(name, journal.saved) { return name }
        return nil
    }

    /// Removes the journal of an earlier run, whose leftovers won't be resumed.
    func removeJournal() { if canResume { WholeFile.remove(place.journal) } }

    private static func holds(_ path: String, _ point: ExportOutput.SavePoint) throws(TransferError) -> Bool {
        guard WholeFile.exists(path) else { return false }
        let file = try OpenFile(reading: path)
        guard try file.byteCount == point.byteCount else { return false }
        return try file.sha256() == point.sha256
    }
}

/// The files that a run left beside the output when it did not finish.
struct ExportLeftovers: Sendable {
    private let place: ExportPlace

    init(_ place: ExportPlace) { self.place = place }

    /// Removes files that no run can resume because no journal says that any of their content is saved.
    func removeUnsaved() {
        guard place.canResume else { return }
        if WholeFile.exists(place.journal) {
            guard let journal = try? ExportJournal.read(place.journal), journal.position == .beginning else { return }
        }
        for path in [place.journal, place.part, place.spool] { WholeFile.remove(path) }
    }
}
