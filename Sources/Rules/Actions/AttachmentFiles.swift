/// The files that one rule file attaches, each read once however many rules attach it.
final class AttachmentFiles {
    /// Read by other rule files of the same set as well.
    final class Shared {
        fileprivate var contents: [ExactString: AttachmentContent] = [:]
        fileprivate var folders: [ExactString: AttachmentFolder] = [:]

        /// The paths of what was read.
        var paths: AttachedPaths {
            AttachedPaths(files: contents.keys.map(\.text), folders: folders.keys.map(\.text))
        }
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
        let key = ExactString(path)
        if let content = shared.contents[key] { return content }
        let content = AttachmentContent(try FileBytes.read(path, limit: Self.lengthLimit))
        shared.contents[key] = content
        return content
    }

    /// A folder whose files are named by documents.
    func folder(_ name: String) throws(FileFault) -> AttachmentFolder {
        let path = RulePath.join(folder, name)
        let key = ExactString(path)
        if let folder = shared.folders[key] { return folder }
        let folder = try AttachmentFolder(path)
        shared.folders[key] = folder
        return folder
    }
}

/// What rule files attach to documents, by path: nothing else should be written there.
package struct AttachedPaths: Sendable {
    package let files: [String]
    /// Documents choose from all that is in them.
    package let folders: [String]
}
