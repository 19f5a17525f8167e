internal import Encodings
internal import Foundation

/// A folder of attachments, each by the SHA-256 of its bytes: `sha256/ab/abcdef…`. The same bytes are there once, however
/// many documents have them.
struct AttachmentStore: Sendable {
    let path: String

    init(_ path: String) { self.path = path }

    /// Makes the folder if it is missing; what belongs into it comes with the first attachment.
    ///
    /// - Throws: ``TransferError``: `.cannotCreate`.
    func create() throws(TransferError) { try Self.create(path) }

    private static func create(_ folder: String) throws(TransferError) {
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw TransferError(.cannotCreate, "can't create \(folder): \(error.localizedDescription)")
        }
    }

    /// A file to write to until its digest is known; the next run takes the one that an interrupted run has left.
    ///
    /// - Parameter slot: Which of those that are written to at the same time.
    func spool(for output: String, slot: Int) throws(TransferError) -> AttachmentSpool {
        try AttachmentSpool(path: spoolPath(for: output, slot), directory: path)
    }

    /// Takes away what is left when nothing is under way any more.
    func removeSpool(for output: String, slot: Int) { WholeFile.remove(spoolPath(for: output, slot)) }

    /// Exports to files of one name in several folders may share this one.
    private func spoolPath(for output: String, _ slot: Int) -> String {
        guard output != "-" else { return "\(path)/.stdout-\(getpid())-\(slot).attachment" }
        var place = RunningDigest(.sha256)
        place.update(URL(fileURLWithPath: output).resolvingSymlinksInPath().path.utf8)
        return "\(path)/.\(place.hex.prefix(16))-\(slot).attachment"
    }

    /// Whether the folder has a file for these bytes, of the same length: one that a crash has cut short does not count.
    func holds(_ body: AttachmentBody) -> Bool { byteCount(of: body.sha256) == body.byteCount }

    /// Length of the file of this digest; nil if there is none.
    func byteCount(of sha256: String) -> Int? {
        var information = stat()
        guard lstat("\(path)/\(AttachmentBody.file(sha256))", &information) == 0,
            information.st_mode & S_IFMT == S_IFREG
        else {
            return nil
        }
        return Int(information.st_size)
    }

    /// Takes a spool's file in, unless it is there; one that is damaged gives way. The spool must not be used any more
    /// afterwards.
    ///
    /// - Parameter unsynced: Gets to know the folders that must be synced before anybody relies on the file.
    /// - Returns: Whether it was taken.
    func take(
        _ spool: AttachmentSpool, _ body: AttachmentBody, noting unsynced: UnsyncedFolders
    ) async throws -> Bool {
        let file = "\(path)/\(body.file)"
        let folder = WholeFile.directory(of: file)
        // Also of what is there: another run may have put it there a moment ago.
        unsynced.note(folder)
        if holds(body), await spool.isSame(as: file) { return false }
        if !WholeFile.exists(folder) {
            try Self.create(folder)
            for folder in [path, "\(path)/sha256"] { unsynced.note(folder) }
        }
        try await spool.rename(to: file)
        return true
    }
}
