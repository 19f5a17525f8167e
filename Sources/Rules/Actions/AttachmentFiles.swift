/// The files that one rule file attaches, each read once however many rules attach it.
final class AttachmentFiles {
    /// Read by other rule files of the same set as well.
    final class Shared {
        fileprivate var attachments: [Key: Attachment] = [:]
    }

    fileprivate struct Key: Hashable {
        let path: String
        let contentType: String
    }

    private let folder: String?
    private let shared: Shared

    /// - Parameter folder: Where the rule file lies; relative paths begin there.
    init(folder: String?, shared: Shared = Shared()) {
        self.folder = folder
        self.shared = shared
    }

    func attachment(_ file: String, contentType: String) throws(FileFault) -> Attachment {
        let key = Key(path: RulePath.join(folder, file), contentType: contentType)
        if let attachment = shared.attachments[key] { return attachment }
        let bytes = try FileBytes.read(key.path, limit: Attachment.lengthLimit)
        let attachment = Attachment(bytes, contentType: contentType)
        shared.attachments[key] = attachment
        return attachment
    }
}
