internal import GatewayClient
internal import LosslessJSON
internal import Revisions

/// The files of one export while it is written, locked against other runs.
final class ExportFiles {
    let place: ExportPlace
    /// Where documents are written as they arrive.
    let output: ExportOutput
    /// Whether documents are first collected there, and written to the final output at the end.
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
        let part = place.isNamed ? try OpenFile(creating: place.part) : nil
        try part?.lock()
        lock = part
        guard isSpooled else {
            output = try Self.finalOutput(place, part)
            return
        }
        // What is encrypted must not be in a file with a name before.
        let spool =
            place.canResume
            ? try OpenFile(creating: place.spool) : try OpenFile(temporaryIn: place.temporaryDirectory)
        output = ExportOutput(spool, isFile: true, isCompressed: false)
    }

    /// Opens what becomes the export.
    ///
    /// - Parameter part: The unfinished file; nil if the output is not a regular file, and so can't be renamed.
    private static func finalOutput(_ place: ExportPlace, _ part: OpenFile?) throws(TransferError) -> ExportOutput {
        let file: OpenFile
        if let part {
            file = part
        } else {
            file = place.kind == .standardOutput ? try OpenFile.standardOutput() : try OpenFile(writingTo: place.path)
        }
        guard let encryption = place.encryption else {
            return ExportOutput(file, isFile: part != nil, isCompressed: place.isCompressed)
        }
        try part?.truncate(to: 0)
        return ExportOutput(try encryption.start(to: file), isCompressed: place.isCompressed)
    }

    var canResume: Bool { place.canResume }

    /// The path of the file that documents are written to.
    var documentsPath: String { isSpooled ? place.spool : place.part }

    /// The encrypted file, once all is written. Nil if the export is not encrypted, or has no file.
    func encryptedFile() throws(TransferError) -> EncryptedFile? {
        guard place.isNamed, let encryption = place.encryption else { return nil }
        try lock?.sync()
        let file = try OpenFile(reading: place.part)
        return EncryptedFile(
            program: encryption.program, recipients: encryption.recipients, byteCount: try file.byteCount,
            sha256: try file.sha256())
    }

    /// A second file for the same documents in another form, or for a part of them. It becomes the export.
    func makeSecond() throws(TransferError) -> ExportOutput {
        guard place.canResume else { return try Self.finalOutput(place, lock) }
        let file = try OpenFile(creating: secondPath)
        try file.truncate(to: 0)
        return ExportOutput(file, isFile: true, isCompressed: place.isCompressed)
    }

    var secondPath: String { isSpooled ? place.part : place.spool }

    /// The path of a complete output.
    func path(of complete: ExportOutput) -> String {
        if place.encryption != nil { return place.part }
        return complete === output ? documentsPath : secondPath
    }

    // MARK: - Finishing

    /// Gives a complete export its name and its manifest. Can be repeated after an interruption.
    ///
    /// - Parameter name: The path of the complete file.
    func complete(_ journal: ExportJournal, from name: String) throws(TransferError) {
        if name != place.path {
            try existing?.checkUnchanged()
            // Between the two steps the export has no manifest, but never the manifest of another export.
            FileOperations.remove(place.manifest)
            try FileOperations.rename(name, to: place.path)
        }
        try FileOperations.write(journal.manifest.json, to: place.manifest)
        for path in [place.journal, place.part, place.spool] { FileOperations.remove(path) }
    }

    /// The file that the journal says is complete; nil if it is missing or has changed.
    func whole(_ journal: ExportJournal) throws(TransferError) -> String? {
        for name in [place.part, place.spool, place.path] where try Self.holds(name, journal.saved) { return name }
        return nil
    }

    /// Removes the journal of an earlier run whose leftovers won't be resumed.
    func removeJournal() { if place.isNamed { FileOperations.remove(place.journal) } }

    private static func holds(_ path: String, _ point: ExportOutput.SavePoint) throws(TransferError) -> Bool {
        guard FileOperations.exists(path) else { return false }
        let file = try OpenFile(reading: path)
        guard try file.byteCount == point.byteCount else { return false }
        return try file.sha256() == point.sha256
    }
}

/// The files that an unfinished run left next to the output.
struct ExportLeftovers: Sendable {
    private let place: ExportPlace

    init(_ place: ExportPlace) { self.place = place }

    /// Whether a journal says that part of their content is saved, so that a run can resume.
    var canBeResumed: Bool {
        guard place.canResume, let journal = try? ExportJournal.read(place.journal) else { return false }
        return journal.position != .beginning
    }

    /// Removes files that no run can resume, because no journal covers their content.
    func removeUnsaved() {
        guard place.isNamed else { return }
        if FileOperations.exists(place.journal) {
            guard let journal = try? ExportJournal.read(place.journal), journal.position == .beginning else { return }
        }
        for path in [place.journal, place.part, place.spool] { FileOperations.remove(path) }
    }
}

/// The progress of an export, which a later run needs to resume it.
///
/// Written next to the output, and only after the data that it describes is on disk.
struct ExportJournal: Sendable, Equatable {
    /// What is done, and therefore where to resume.
    enum Position: Sendable, Equatable {
        case beginning
        /// Everything up to this id.
        case document(DocumentID)
        /// Everything up to this sequence. `isSecondReading`: the feed was already read to its end once.
        case sequence(SequenceID, isSecondReading: Bool)
        /// The file is complete, but may not have its final name yet.
        case whole
    }

    var manifest: ExportManifest
    var position = Position.beginning
    /// Save point of the file that documents are written to, or of the final file once it is complete.
    var saved = ExportOutput.SavePoint()
    /// The manifest of the export that this one replaces. It identifies the old file between the removal of its
    /// manifest and the rename of the new file.
    var replaced: ExportManifest?

    init(manifest: ExportManifest) { self.manifest = manifest }

    /// Nil if there is no journal.
    ///
    /// - Throws: ``TransferError``: `.foreign` if the file is not a journal of this program.
    static func read(_ path: String) throws(TransferError) -> ExportJournal? {
        guard let bytes = try FileOperations.read(path) else { return nil }
        guard let text = try? JSONText(bytes, limits: .files), let journal = ExportJournal(text.root) else {
            throw TransferError(
                .foreign, "\(path) does not contain the progress of an export; remove it, or run without --resume")
        }
        return journal
    }

    init?(_ value: JSONValue) {
        guard let manifest = value["manifest"].flatMap(ExportManifest.init), let place = value["position"],
            let position = Self.position(place), let byteCount = value["bytes"]?.count,
            let sha256 = value["sha256"]?.string
        else { return nil }
        self.manifest = manifest
        self.position = position
        saved = ExportOutput.SavePoint(byteCount: byteCount, sha256: sha256)
        replaced = value["replaced"].flatMap(ExportManifest.init)
    }

    private static func position(_ value: JSONValue) -> Position? {
        if let id = value["id"]?.string { return .document(DocumentID(id)) }
        if let sequence = value["sequence"].flatMap(SequenceID.init) {
            return .sequence(sequence, isSecondReading: value["second_reading"]?.bool ?? false)
        }
        switch value["state"]?.string {
        case "beginning": return .beginning
        case "whole": return .whole
        default: return nil
        }
    }

    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.name("position")
            writer.object { writer in
                switch position {
                case .beginning: writer.member("state", string: "beginning")
                case .document(let id): writer.member("id", string: id.text)
                case .sequence(let sequence, let isSecondReading):
                    writer.member("sequence", sequence: sequence)
                    writer.member("second_reading", bool: isSecondReading)
                case .whole: writer.member("state", string: "whole")
                }
            }
            writer.member("bytes", integer: saved.byteCount)
            writer.member("sha256", string: saved.sha256)
            writer.name("manifest")
            manifest.write(to: &writer)
            if let replaced {
                writer.name("replaced")
                replaced.write(to: &writer)
            }
        }
        return writer.bytes + [UInt8(ascii: "\n")]
    }
}
