/// The files that one rule file attaches, each read once for all rules.
final class AttachmentFiles {
    /// Where contents come from.
    enum Source {
        case disk
        /// From disk, but a content is read again only after its file has changed.
        case memory(AttachmentMemory)
        /// Nothing is read: each file is empty, and each folder exists.
        case nowhere
    }

    /// Shared by the rule files of a set.
    final class Shared {
        fileprivate var contents: [ExactString: AttachmentContent] = [:]
        fileprivate var attached: Set<ExactString> = []
        fileprivate var folders: [ExactString: AttachmentFolder] = [:]
        fileprivate let source: Source

        init(from source: Source = .disk) { self.source = source }

        /// The paths of everything that was read.
        var paths: AttachedPaths {
            AttachedPaths(
                files: contents.keys.map(\.text), attachedFiles: attached.map(\.text), folders: folders.keys.map(\.text)
            )
        }
    }

    /// The maximum number of bytes of a file. More than gateways accept, so that the gateway refuses, not the bot.
    static let lengthLimit = 64 << 20

    private let folder: String?
    private let shared: Shared

    /// - Parameter folder: The folder of the rule file; relative paths start there.
    init(folder: String?, shared: Shared) {
        self.folder = folder
        self.shared = shared
    }

    /// Whether all files are empty, because none is read.
    var areUnread: Bool { if case .nowhere = shared.source { true } else { false } }

    /// - Parameter isAttached: Whether a rule attaches the file. Otherwise a test compares with it, or a webhook sends it.
    func content(_ file: String, isAttached: Bool = true) throws(FileError) -> AttachmentContent {
        let path = RulePath.join(folder, file)
        let key = ExactString(path)
        if isAttached { shared.attached.insert(key) }
        if let content = shared.contents[key] { return content }
        let content =
            switch shared.source {
            case .disk: AttachmentContent(try FileBytes.read(path, limit: Self.lengthLimit))
            case .memory(let memory): try memory.content(path)
            case .nowhere: AttachmentContent([])
            }
        shared.contents[key] = content
        return content
    }

    /// A folder from which documents choose files.
    func folder(_ name: String) throws(FileError) -> AttachmentFolder {
        let path = RulePath.join(folder, name)
        let key = ExactString(path)
        if let folder = shared.folders[key] { return folder }
        let folder: AttachmentFolder
        switch shared.source {
        case .disk, .memory: folder = try AttachmentFolder(path)
        case .nowhere: folder = AttachmentFolder(unread: path)
        }
        shared.folders[key] = folder
        return folder
    }
}

/// The files that rule files attach, by path, so that the bot never writes to them.
package struct AttachedPaths: Sendable {
    /// Files that rule files name, in rules or tests.
    package let files: [String]
    /// Those among them that rules attach.
    package let attachedFiles: [String]
    /// Folders from which documents choose files.
    package let folders: [String]
}
