/// The files that one rule file attaches, each read once however many rules attach it.
final class AttachmentFiles {
    /// Read by other rule files of the same set as well.
    final class Shared {
        fileprivate var contents: [String: AttachmentContent] = [:]
        fileprivate var folders: [String: AttachmentFolder] = [:]
    }

    /// Bytes that a file may have. More than gateways take, so that it is they who say no.
    static let lengthLimit = 64 << 20

    private let folder: String?
    private let shared: Shared

    /// - Parameter folder: Where the rule file lies; relative paths begin there.
    init(folder: String?, shared: Shared) {
        self.folder = folder
        self.shared = shared
    }

    func content(_ file: String) throws(FileFault) -> AttachmentContent {
        let path = RulePath.join(folder, file)
        if let content = shared.contents[path] { return content }
        let content = AttachmentContent(try FileBytes.read(path, limit: Self.lengthLimit))
        shared.contents[path] = content
        return content
    }

    /// A folder whose files are named by documents.
    func folder(_ name: String) throws(FileFault) -> AttachmentFolder {
        let path = RulePath.join(folder, name)
        if let folder = shared.folders[path] { return folder }
        let folder = try AttachmentFolder(path)
        shared.folders[path] = folder
        return folder
    }
}
