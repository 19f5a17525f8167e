internal import Glibc
internal import LosslessJSON
internal import Revisions

/// The attachment folders of the exports that are merged, and the folder of the result.
struct MergedAttachments: Sendable {
    /// As it is named in the manifest.
    let folder: String
    private let output: AttachmentStore
    /// The folder of each export of the chain.
    private let inputs: [AttachmentStore]
    private let unsynced = UnsyncedFolders()

    /// Nil if the exports have no folders.
    ///
    /// - Parameters:
    ///   - folder: The folder for the result. Nil: the folder of all exports.
    ///   - gathered: The folder if `folder` is nil and the exports have several.
    /// - Throws: ``TransferError``: `.usage` if the exports have several folders and none is given; `.missing` if the
    ///   folder of an export can't be found.
    init?(
        _ chain: ExportChain, to folder: String?, orGatheredIn gathered: String? = nil
    ) throws(TransferError) {
        var inputs: [AttachmentStore] = []
        for file in chain.files {
            guard case .folder(let named) = file.manifest.options.attachments else { continue }
            guard let found = AttachmentFolderCandidates(named, of: file.path).found else {
                guard file.manifest.counts.bodies > 0 else {
                    inputs.append(AttachmentStore(named))
                    continue
                }
                throw TransferError(
                    .missing,
                    "\(file.path): its attachment folder \(named) is neither there nor next to it; move it there")
            }
            inputs.append(AttachmentStore(found))
        }
        guard let first = inputs.first else {
            guard let folder else { return nil }
            throw TransferError(
                .usage, "--attachments \(folder): the exports have no folder of attachments; remove the option")
        }
        let others = inputs.first { Self.absolute($0.path) != Self.absolute(first.path) }
        let folder = folder ?? (others == nil ? nil : gathered)
        if let others, folder == nil {
            throw TransferError(
                .usage,
                "the attachments are in several folders, \(first.path) and \(others.path): name one for the result with "
                    + "--attachments DIR")
        }
        self.inputs = inputs
        self.folder = folder ?? Self.absolute(first.path)
        output = AttachmentStore(self.folder)
    }

    /// The path with links resolved, so that the result may be anywhere. Unchanged if the folder does not exist.
    private static func absolute(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Creates the folder if it is missing.
    func create() throws(TransferError) { try output.create() }

    /// Links or copies the files of a document's attachments into the folder, if it does not have them.
    ///
    /// - Parameter index: Of the document's export in the chain.
    /// - Throws: ``TransferError``: `.invalid` if a file is missing; `.cannotWrite`.
    func provide(for document: JSONValue, from index: Int, of file: ExportFile) throws(TransferError) {
        guard let attachments = document["_attachments"]?.members else { return }
        for member in attachments {
            guard let name = member.value["file"]?.string else { continue }
            guard let sha256 = name.split(separator: "/").last.map(String.init), name == AttachmentBody.file(sha256)
            else {
                throw TransferError(
                    .invalid, "\(file.path) is damaged: an attachment names the file '\(name)'; export again")
            }
            let store = inputs[index]
            guard store.byteCount(of: sha256) != nil else {
                throw TransferError(
                    .invalid,
                    "\(file.path): the attachment file \(store.path)/\(name) is missing; restore it, or export "
                        + "again")
            }
            try output.take(sha256, from: store, noting: unsynced)
        }
    }

    /// Call when all files are there.
    func sync() { unsynced.sync() }
}
