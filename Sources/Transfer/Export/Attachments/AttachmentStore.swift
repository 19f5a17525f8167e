internal import Foundation

/// A folder of attachments, each by the SHA-256 of its bytes: `sha256/ab/abcdef…`. The same bytes are there once, however
/// many documents have them.
struct AttachmentStore: Sendable {
    let path: String

    init(_ path: String) { self.path = path }

    /// Makes the folder if it is missing.
    ///
    /// - Throws: ``TransferError``: `.cannotCreate`.
    func create() throws(TransferError) { try create("sha256") }

    private func create(_ folder: String) throws(TransferError) {
        do {
            try FileManager.default.createDirectory(atPath: "\(path)/\(folder)", withIntermediateDirectories: true)
        } catch {
            throw TransferError(.cannotCreate, "can't create \(path)/\(folder): \(error.localizedDescription)")
        }
    }

    /// A file to write to until its digest is known; the next run takes the one that an interrupted run has left.
    func spool(for output: String) throws(TransferError) -> AttachmentSpool {
        try AttachmentSpool(path: spoolPath(for: output), directory: path)
    }

    /// Takes away what is left when nothing is under way any more.
    func removeSpool(for output: String) { WholeFile.remove(spoolPath(for: output)) }

    /// Exports to files of one name in several folders may share this one.
    private func spoolPath(for output: String) -> String {
        guard output != "-" else { return "\(path)/.stdout-\(getpid()).attachment" }
        let place = RunningDigest()
        place.update(URL(fileURLWithPath: output).resolvingSymlinksInPath().path.utf8)
        return "\(path)/.\(place.hex.prefix(16)).attachment"
    }

    /// Whether the folder has these bytes already. One that a crash has cut short does not count.
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

    /// Takes a spool's file in, unless it is there. The spool must not be used any more afterwards.
    ///
    /// - Returns: Whether it was taken.
    func take(_ spool: AttachmentSpool, _ body: AttachmentBody) async throws -> Bool {
        guard !holds(body) else { return false }
        let folder = "sha256/\(body.sha256.prefix(2))"
        if !WholeFile.exists("\(path)/\(folder)") {
            try create(folder)
            WholeFile.syncFolder(of: "\(path)/\(folder)")
        }
        try await spool.rename(to: "\(path)/\(body.file)")
        return true
    }
}
