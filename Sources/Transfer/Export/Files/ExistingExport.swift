internal import FoundationEssentials
internal import GatewayClient
internal import Glibc
internal import Revisions

/// What exists at the path of an export. An export replaces only an unchanged earlier export of the same kind and the
/// same database, and no other file.
struct ExistingExport: Sendable {
    private let place: ExportPlace
    /// The manifest of the complete export that exists there; nil if there is none.
    let manifest: ExportManifest?
    private let version: Version?

    /// - Throws: ``TransferError``: `.occupied` if the file was not made by an export or has changed since.
    init(_ place: ExportPlace, isResuming: Bool) throws(TransferError) {
        self.place = place
        version = Version(place.path)
        let journal = try Self.journal(place, isResuming: isResuming)
        manifest = try Self.manifest(place, journal)
    }

    private static func journal(_ place: ExportPlace, isResuming: Bool) throws(TransferError) -> ExportJournal? {
        guard FileOperations.exists(place.journal) else {
            for path in [place.part, place.spool] where (Version(path)?.byteCount ?? 0) > 0 {
                throw refusal(path, "it was not written by an export: \(place.journal) is missing")
            }
            return nil
        }
        do { return try ExportJournal.read(place.journal) } catch {
            guard !isResuming else { throw error }
            throw refusal(place.journal, "it is not the journal of an export")
        }
    }

    /// The manifest of the existing file, if the file is unchanged since its export.
    private static func manifest(
        _ place: ExportPlace, _ journal: ExportJournal?
    ) throws(TransferError) -> ExportManifest? {
        var manifests = journal?.position == .whole ? [journal?.manifest, journal?.replaced].compactMap { $0 } : []
        let hasManifest = FileOperations.exists(place.manifest)
        if hasManifest {
            do { manifests = [try ExportManifest.read(place.manifest)] } catch {
                throw refusal(place.manifest, "it is not the manifest of an export")
            }
        }
        guard let found = Version(place.path) else { return nil }
        guard found.isRegular else { throw refusal(place.path, "it is not a regular file") }
        guard hasManifest || found.byteCount > 0 else { return nil }
        // The manifest is missing if a run was interrupted while one export replaced another.
        for manifest in manifests {
            let expected = manifest.file(encrypted: place.encryption != nil)
            guard found.byteCount == expected.byteCount else { continue }
            if try OpenFile(reading: place.path).sha256() == expected.sha256 { return manifest }
        }
        throw refusal(
            place.path,
            manifests.isEmpty ? "it is not an export: it has no manifest" : "it has changed since it was exported"
        )
    }

    /// Writes the missing manifest of the existing file, before the journal that contains it is removed.
    func restoreManifest() throws(TransferError) {
        guard let manifest, !FileOperations.exists(place.manifest) else { return }
        try FileOperations.write(manifest.json, to: place.manifest)
    }

    /// - Throws: ``TransferError``: `.occupied` if the existing or interrupted export is of another kind or another
    ///   database; `RunError` if the gateway does not answer, `CancellationError`.
    func check(for new: ExportManifest, isResuming: Bool, _ database: DatabaseCheck) async throws {
        if let manifest, let mismatch = try await Self.mismatch(with: manifest, new, database) {
            throw Self.refusal(place.path, mismatch)
        }
        guard !isResuming, let journal = try ExportJournal.read(place.journal) else { return }
        if let mismatch = try await Self.mismatch(with: journal.manifest, new, database) {
            throw Self.refusal(place.part, "it was interrupted, and \(mismatch)")
        }
    }

    private static func mismatch(
        with old: ExportManifest, _ new: ExportManifest, _ database: DatabaseCheck
    ) async throws -> String? {
        if (old.from == nil) != (new.from == nil) {
            return old.from == nil
                ? "it is a full export, and this one is incremental"
                : "it is an incremental export, and this one is full"
        }
        if old.options.since != new.options.since {
            return "it begins at another sequence, \(old.from?.description ?? "0")"
        }
        if old.options != new.options { return "it was exported with other options" }
        if !old.facts.mayBeOnSameServer(as: new.facts) {
            return "it comes from \(old.facts.gateway), not from \(new.facts.gateway)"
        }
        return try await database.confirm(old.facts.mismatch(with: new.facts))
    }

    /// Checks that the existing file did not change during the export. Call before the file is replaced.
    ///
    /// - Throws: ``TransferError``: `.occupied` if it is not the same as at the start.
    func checkUnchanged() throws(TransferError) {
        guard Version(place.path) == version else {
            throw TransferError(
                .occupied,
                "\(place.path) changed during the export and was not replaced. The export is complete: run again with --resume --overwrite to replace it"
            )
        }
    }

    private static func refusal(_ path: String, _ reason: String) -> TransferError {
        TransferError(
            .occupied,
            "\(path) exists and is not replaced: \(reason); choose another --output, or give --overwrite")
    }

    /// What identifies a file and its content.
    private struct Version: Sendable, Equatable {
        let device: UInt
        let number: UInt
        let byteCount: Int
        let seconds: Int
        let nanoseconds: Int
        let isRegular: Bool

        /// Nil if there is no such file.
        init?(_ path: String) {
            var information = stat()
            guard stat(path, &information) == 0 else { return nil }
            device = UInt(information.st_dev)
            number = UInt(information.st_ino)
            byteCount = Int(information.st_size)
            seconds = Int(information.st_mtim.tv_sec)
            nanoseconds = Int(information.st_mtim.tv_nsec)
            isRegular = information.st_mode & S_IFMT == S_IFREG
        }
    }
}
