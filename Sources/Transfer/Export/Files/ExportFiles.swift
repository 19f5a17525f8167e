/// The files of one export while it is written. Keeps other runs away from them.
final class ExportFiles {
    let place: ExportPlace
    /// Where documents go as they come.
    let output: ExportOutput
    /// Whether they wait there until all are known: columns are found out of all of them.
    let isSpooled: Bool
    /// What must not have changed when the export takes its name; nil if it may take anything's place.
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
            output = ExportOutput(file, isFile: isSpooled, isPacked: place.isPacked && !isSpooled)
            return
        }
        let part = try OpenFile(creating: place.part)
        try part.lock()
        lock = part
        output = ExportOutput(
            isSpooled ? try OpenFile(creating: place.spool) : part, isFile: true, isPacked: place.isPacked && !isSpooled
        )
    }

    /// What is no file that can be renamed.
    private static func open(_ place: ExportPlace) throws(TransferError) -> OpenFile {
        place.kind == .standardOutput ? try OpenFile.standardOutput() : try OpenFile(writingTo: place.path)
    }

    var canResume: Bool { place.canResume }

    /// Where documents are that are written to a file.
    var documentsPath: String { isSpooled ? place.spool : place.part }

    /// Another file of the same documents, in another form or with some left out, which is to be the export.
    ///
    func makeSecond() throws(TransferError) -> ExportOutput {
        guard place.kind == .file else {
            return ExportOutput(try Self.open(place), isFile: false, isPacked: place.isPacked)
        }
        let file = try OpenFile(creating: secondPath)
        try file.truncate(to: 0)
        return ExportOutput(file, isFile: true, isPacked: place.isPacked)
    }

    var secondPath: String { isSpooled ? place.part : place.spool }

    /// The documents as they were written, from the first.
    func readDocuments(_ body: ([UInt8]) throws -> Void) throws { try output.readAll(body) }

    // MARK: - The end

    /// Gives a whole export its name and its manifest. Interrupted, it can be done again.
    ///
    /// - Parameter name: Of the file that is whole.
    func complete(_ journal: ExportJournal, from name: String) throws(TransferError) {
        if name != place.path {
            try existing?.checkUnchanged()
            // Between the two there is an export without a manifest, but never one with another's.
            WholeFile.remove(place.manifest)
            try WholeFile.rename(name, to: place.path)
        }
        try WholeFile.write(journal.manifest.json, to: place.manifest)
        for path in [place.journal, place.part, place.spool] { WholeFile.remove(path) }
    }

    /// The file that a journal knows to be whole; nil if it is not there, or not as it was.
    func whole(_ journal: ExportJournal) throws(TransferError) -> String? {
        for name in [place.part, place.spool, place.path] where try Self.holds(name, journal.saved) { return name }
        return nil
    }

    /// What an earlier run has left is of no use any more.
    func removeJournal() { if canResume { WholeFile.remove(place.journal) } }

    private static func holds(_ path: String, _ point: ExportOutput.SavePoint) throws(TransferError) -> Bool {
        guard WholeFile.exists(path) else { return false }
        let file = try OpenFile(reading: path)
        guard try file.byteCount == point.byteCount else { return false }
        return try file.sha256() == point.sha256
    }
}

/// What a run that did not get that far leaves beside the output.
struct ExportLeftovers: Sendable {
    private let place: ExportPlace

    init(_ place: ExportPlace) { self.place = place }

    /// Takes away files of which no journal tells that anything of them is saved: nobody can go on with them, however much
    /// they hold.
    func removeUnsaved() {
        guard place.canResume else { return }
        if WholeFile.exists(place.journal) {
            guard let journal = try? ExportJournal.read(place.journal), journal.position == .beginning else { return }
        }
        for path in [place.journal, place.part, place.spool] { WholeFile.remove(path) }
    }
}
