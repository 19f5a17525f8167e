internal import LosslessJSON

/// Attaches a file, or what a URL gives, to the document.
struct AttachAction: Sendable {
    private static let keys = ["name", "file", "content_type", "folder"] + DownloadTemplate.keys

    private enum File: Sendable {
        /// Named in the rule file, and read when that is loaded.
        case fixed(AttachmentContent, name: String)
        /// Named by a program.
        case chosen(TextTemplate, AttachmentFolder)
        /// Downloaded when a document needs it.
        case downloaded(DownloadTemplate)
    }

    let name: TextTemplate
    private let file: File
    private let contentType: TextTemplate?

    var programs: [Int] { name.programs + filePrograms + (contentType?.programs ?? []) }

    private var filePrograms: [Int] {
        switch file {
        case .fixed: []
        case .chosen(let name, _): name.programs
        case .downloaded(let download): download.programs
        }
    }

    /// Where it downloads from; nil: it attaches a file.
    var source: DownloadSource? {
        if case .downloaded(let download) = file { download.source } else { nil }
    }

    /// Bytes of the file; nil if it depends on the document.
    var length: Int? {
        if case .fixed(let content, _) = file { content.length } else { nil }
    }

    /// Nil, with errors, if a value is missing or wrong, or the file can't be read. A fixed file is read here, once.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        let errors = reading.errors
        guard let object = SourceObject(node, "attach", known: Self.keys, errors: errors) else { return nil }
        let before = errors.errors.count
        let name = reading.requiredText(object, "name", "the attachment needs a name: name: image")
        let download = object.node("url").flatMap { _ in DownloadTemplate(object, reading) }
        if object.node("url") == nil { Self.refuseKeysOfDownloads(object) }
        if object.node("url") != nil, let node = object.node("file") {
            errors.report(at: node.position, "'file' and 'url' are two sources of one attachment; remove one")
        }
        let file =
            object.node("url") == nil
            ? reading.requiredText(object, "file", "name the file to attach: file: ../assets/apple.png") : nil
        let folder = object.optionalText("folder")
        contentType = reading.text(object, "content_type")
        if let name = name?.literal, let error = Self.error(ofName: name), let node = object.node("name") {
            errors.report(at: node.position, error)
        }
        if let type = contentType?.literal, !ContentType.isValid(type), let node = object.node("content_type") {
            errors.report(at: node.position, "'\(type)' is not a content type; write one like image/png")
        }
        var source = download.map { File.downloaded($0) }
        if let file, let node = object.node("file") {
            source = Self.find(file, at: node.position, folder, object, reading)
        }
        guard let source, let name, errors.errors.count == before else { return nil }
        self.name = name
        self.file = source
    }

    private static func refuseKeysOfDownloads(_ object: SourceObject) {
        for name in DownloadTemplate.keys {
            guard let node = object.node(name) else { continue }
            object.errors.report(at: node.position, "'\(name)' is for 'url' only; write url: https://…, or remove it")
        }
    }

    private static func find(
        _ file: TextTemplate, at position: SourcePosition, _ folder: String?, _ object: SourceObject,
        _ reading: RuleReading
    ) -> File? {
        do throws(FileError) {
            if let name = file.literal {
                return .fixed(try reading.files.content(RulePath.join(folder, name)), name: name)
            }
            guard let folder else {
                reading.errors.report(
                    at: position,
                    "a computed 'file' needs a 'folder', and can name only files in it: folder: ../assets")
                return nil
            }
            do throws(FileError) { return .chosen(file, try reading.files.folder(folder)) } catch {
                reading.errors.report(at: object.node("folder")?.position ?? position, error.description)
                return nil
            }
        } catch {
            reading.errors.report(at: position, error.description)
            return nil
        }
    }

    private static func error(ofName name: String) -> String? {
        name.begins(with: "_") ? "gateways refuse attachment names that begin with '_'; rename it" : nil
    }

    /// Does nothing if a program gives no name or file, or null for it.
    func apply(to draft: inout Draft, _ outputs: [[JSONText]]) throws(ActionError) {
        var rest = outputs[...]
        func take(_ template: TextTemplate) -> [[JSONText]] {
            defer { rest = rest.dropFirst(template.programs.count) }
            return Array(rest.prefix(template.programs.count))
        }
        guard let name = try name.text(take(name), of: "the attachment's name") else { return }
        if let error = Self.error(ofName: name) { throw .failed(error) }
        var content: AttachmentContent?
        var download: DownloadRequest?
        var fileName = ""
        switch file {
        case .fixed(let fixed, let name): (content, fileName) = (fixed, name)
        case .chosen(let template, let folder):
            guard let chosen = try template.text(take(template), of: "the file to attach") else { return }
            fileName = chosen
            do throws(FileError) { content = try folder.content(chosen) } catch { throw .failed(error.description) }
        case .downloaded(let template):
            defer { rest = rest.dropFirst(template.programs.count) }
            guard let request = try template.request(Array(rest.prefix(template.programs.count))) else { return }
            download = request
        }
        let type = try contentType.flatMap { template throws(ActionError) in
            try template.text(take(template), of: "the content type")
        }
        if let type, !ContentType.isValid(type) { throw .failed("'\(type)' is not a content type") }
        if let content {
            try attach(Attachment(content, contentType: type ?? ContentType.ofFile(named: fileName)), name, to: &draft)
        } else if let download {
            try attach(download, type, name, to: &draft)
        }
    }

    /// - Parameter type: Overrides the server's.
    /// - Throws: ``ActionError/needs(_:)`` until the draft has the answer.
    private func attach(
        _ download: DownloadRequest, _ type: String?, _ name: String, to draft: inout Draft
    ) throws(ActionError) {
        let existing = draft.document.root["_attachments"]?[name]
        // In a later pass it is there.
        if let made = draft.attachments[ExactString(name)], made.url == download.url, existing != nil { return }
        var request = download
        request.contentType = type
        if let existing, let digest = existing["digest"]?.string, let known = existing["content_type"]?.string {
            request.existing = DownloadRequest.Existing(
                digest: digest, length: existing["length"]?.integer, contentType: known)
        }
        switch draft.downloads[request] {
        case nil, .later: throw .needs(request)
        case .failed(let reason): throw .failed("attach: \(reason)")
        case .unchanged: return
        case .notAsked:
            let type = type ?? ContentType.ofFile(named: String(download.path.prefix { $0 != "?" }))
            try attach(Attachment(notDownloadedFrom: download.url, contentType: type), name, to: &draft)
        case .content(let content, let given):
            try attach(Attachment(content, contentType: type ?? given, url: download.url), name, to: &draft)
        }
    }

    private func attach(
        _ attachment: Attachment, _ name: String, to draft: inout Draft
    ) throws(ActionError) {
        let attachments = JSONPointer(tokens: ["_attachments"])
        do throws(JSONEditError) {
            guard let existing = draft.document.root["_attachments"] else {
                var writer = JSONWriter()
                writer.object { $0.member(name, raw: attachment.stub) }
                draft.document = try draft.document.setting(attachments, to: writer.bytes)
                draft.attachments[ExactString(name)] = attachment
                return
            }
            if let stub = existing[name], attachment.isContent(of: stub) { return }
            draft.document = try draft.document.setting(attachments.appending(name), to: attachment.stub)
            draft.attachments[ExactString(name)] = attachment
        } catch {
            throw ActionError(error)
        }
    }

    /// The file is represented by its content: its path does not matter.
    ///
    /// - Parameter source: The value of the action in the rule file.
    func writeCanonical(of source: SourceNode?, to writer: inout JSONWriter) {
        if case .downloaded = file, let source { return writer.raw(source.json) }
        writer.object { writer in
            for name in ["name", "content_type"] {
                if let node = source?.member(name) { writer.member(name, raw: node.json) }
            }
            switch file {
            case .fixed(let content, let name):
                writer.member("length", integer: content.length)
                writer.member("sha256", string: content.sha256)
                if contentType == nil { writer.member("type", string: ContentType.ofFile(named: name)) }
            case .downloaded: break
            case .chosen(_, let folder):
                if let node = source?.member("file") { writer.member("file", raw: node.json) }
                writer.name("folder")
                folder.writeCanonical(to: &writer)
            }
        }
    }
}
