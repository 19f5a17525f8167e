internal import LosslessJSON

/// Attaches a file to the document.
struct AttachAction: Sendable {
    private static let keys = ["name", "file", "content_type", "folder"]

    private let name: String
    private let attachment: Attachment

    /// Nil, with faults, if a value is missing or wrong, or the file can't be read. The file is read here, once.
    init?(_ node: SourceNode, _ faults: SourceFaults, _ files: AttachmentFiles) {
        guard let object = SourceObject(node, "attach", known: Self.keys, faults: faults) else { return nil }
        let name = object.requiredText("name", "the attachment needs a name: name: image")
        let file = object.requiredText("file", "name the file to attach: file: ../assets/apple.png")
        let folder = object.optionalText("folder")
        let contentType = object.optionalText("content_type")
        if let name, name.hasPrefix("_"), let node = object.node("name") {
            faults.report(at: node.position, "gateways refuse attachment names that begin with '_'; rename it")
            return nil
        }
        if let contentType, !ContentType.isValid(contentType), let node = object.node("content_type") {
            faults.report(at: node.position, "'\(contentType)' is not a content type; write one like image/png")
            return nil
        }
        guard let name, let file, let fileNode = object.node("file") else { return nil }
        do throws(FileFault) {
            let path = RulePath.join(folder, file)
            attachment = try files.attachment(path, contentType: contentType ?? ContentType.ofFile(named: file))
        } catch {
            faults.report(at: fileNode.position, error.description)
            return nil
        }
        self.name = name
    }

    func apply(to draft: inout Draft) throws(JSONEditFault) {
        let attachments = JSONPointer(tokens: ["_attachments"])
        guard let existing = draft.document.root["_attachments"] else {
            var writer = JSONWriter()
            writer.object { $0.member(name, raw: attachment.stub) }
            draft.document = try draft.document.setting(attachments, to: writer.bytes)
            draft.attachments[name] = attachment
            return
        }
        if let stub = existing[name], attachment.isContent(of: stub) { return }
        draft.document = try draft.document.setting(attachments.appending(name), to: attachment.stub)
        draft.attachments[name] = attachment
    }

    /// The file by its content: where it lies does not matter.
    func writeCanonical(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.name("attach")
            writer.object { writer in
                writer.member("name", string: name)
                writer.member("content_type", string: attachment.contentType)
                writer.member("length", integer: attachment.length)
                writer.member("sha256", string: attachment.sha256)
            }
        }
    }
}
