internal import LosslessJSON

/// Attaches a file or a download to the document.
struct AttachAction: Action {
    static let name = "attach"
    static let synonyms = ["attachment"]
    static let keys = ["name", "blob", "file", "content_type", "folder"] + DownloadTemplate.keys
    static let untestedKeys = Set(["file", "folder"] + DownloadTemplate.keys).subtracting(["url", "path"])

    private enum File: Sendable {
        /// Named in the rule file, and read when the rule file is loaded.
        case fixed(AttachmentContent, name: String)
        /// Named by a program.
        case chosen(TextTemplate, AttachmentFolder)
        /// Downloaded when a document needs it.
        case downloaded(DownloadTemplate)
    }

    let place: AttachmentPlace
    private let file: File
    private let contentType: TextTemplate?

    var programs: [Int] { place.template.programs + filePrograms + (contentType?.programs ?? []) }

    private var filePrograms: [Int] {
        switch file {
        case .fixed: []
        case .chosen(let name, _): name.programs
        case .downloaded(let download): download.programs
        }
    }

    /// Where it downloads from. Nil if it attaches a file.
    var source: DownloadSource? {
        if case .downloaded(let download) = file { download.source } else { nil }
    }

    /// Bytes of the file. Nil if the file depends on the document.
    var length: Int? {
        if case .fixed(let content, _) = file { content.length } else { nil }
    }

    /// Nil, with errors, if a value is missing or wrong, or the file can't be read. A fixed file is read once, here.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        let errors = reading.errors
        guard let object = SourceObject(node, "attach", known: Self.keys, errors: errors) else { return nil }
        let before = errors.errors.count
        let place = AttachmentPlace(
            object, reading, remedy: "name the attachment: name: image, or blob: image for Couchbase Lite")
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
        if let type = contentType?.literal, !ContentType.isValid(type), let node = object.node("content_type") {
            errors.report(at: node.position, "'\(type)' is not a content type; write one such as image/png")
        }
        var source = download.map { File.downloaded($0) }
        if let file, let node = object.node("file") {
            source = Self.find(file, at: node.position, folder, object, reading)
        }
        guard let source, let place, errors.errors.count == before else { return nil }
        self.place = place
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
                    "a computed 'file' needs a 'folder' and can only name files in it; write folder: ../assets")
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

    /// Does nothing if a program gives no name or file, or gives null for one of them.
    func apply(to draft: inout Draft, _ outputs: [[JSONText]]) throws(ActionError) {
        var rest = outputs[...]
        func take(_ template: TextTemplate) -> [[JSONText]] {
            defer { rest = rest.dropFirst(template.programs.count) }
            return Array(rest.prefix(template.programs.count))
        }
        guard let target = try Target(place.resolved(take(place.template), of: "the attachment's name"), draft) else {
            return
        }
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
            try attach(
                Attachment(content, contentType: type ?? ContentType.ofFile(named: fileName)), target, to: &draft)
        } else if let download {
            try attach(download, type, target, to: &draft)
        }
    }

    /// The attachment to write.
    private struct Target {
        let name: String
        /// The member of the blob. Nil for a plain attachment.
        let blob: BlobPlace?

        init?(_ place: (name: String, blob: BlobPlace?)?, _ draft: Draft) throws(ActionError) {
            guard let place else { return nil }
            (name, blob) = place
            if let error = AttachmentPlace.error(ofName: name) { throw .failed(error) }
            if let obstacle = blob?.obstacle(in: draft.document) { throw .failed("attach: \(obstacle)") }
        }
    }

    /// - Parameter type: Overrides the server's content type.
    /// - Throws: ``ActionError/needs(_:)`` until the draft has the answer.
    private func attach(
        _ download: DownloadRequest, _ type: String?, _ target: Target, to draft: inout Draft
    ) throws(ActionError) {
        let existing = draft.document.root["_attachments"]?[target.name]
        // A later pass finds the content.
        if let added = draft.attachments[ExactString(target.name)], added.url == download.url, existing != nil {
            return try describe(added, target, in: &draft)
        }
        var request = download
        request.contentType = type
        if let existing { request.existing = Self.known(existing, target.blob, draft) }
        switch draft.downloads[request] {
        case nil, .later: throw .needs(request)
        case .failed(let reason): throw .failed("attach: \(reason)")
        case .unchanged: return
        case .disabled:
            let type = type ?? ContentType.ofFile(named: String(download.path.prefix { $0 != "?" }))
            try attach(Attachment(notDownloadedFrom: download.url, contentType: type), target, to: &draft)
        case .content(let content, let given):
            try attach(Attachment(content, contentType: type ?? given, url: download.url), target, to: &draft)
        }
    }

    /// What the server may confirm. Nil if writing the member of a blob needs the content anyway.
    private static func known(_ stub: JSONValue, _ blob: BlobPlace?, _ draft: Draft) -> DownloadRequest.Existing? {
        guard let digest = stub["digest"]?.string, let type = stub["content_type"]?.string else { return nil }
        var described: String?
        if let blob {
            guard let description = blob.description(in: draft.document.root), description.agrees(with: stub) else {
                return nil
            }
            described = description.digest
        }
        return DownloadRequest.Existing(
            digest: digest, length: stub["length"]?.integer, contentType: type, blobDigest: described)
    }

    /// Writes the member of a blob and the stub, each unless it is already right.
    private func attach(
        _ attachment: Attachment, _ target: Target, to draft: inout Draft
    ) throws(ActionError) {
        try describe(attachment, target, in: &draft)
        let attachments = JSONPointer(tokens: ["_attachments"])
        do throws(JSONEditError) {
            guard let existing = draft.document.root["_attachments"] else {
                var writer = JSONWriter()
                writer.object { $0.member(target.name, raw: attachment.stub) }
                draft.document = try draft.document.setting(attachments, to: writer.bytes)
                draft.attachments[ExactString(target.name)] = attachment
                return
            }
            if let stub = existing[target.name] {
                switch attachment.isContent(of: stub) {
                case true?: return
                case nil: draft.noteUnknown(attachment, stub, named: target.name)
                case false?: break
                }
            }
            draft.document = try draft.document.setting(attachments.appending(target.name), to: attachment.stub)
            draft.attachments[ExactString(target.name)] = attachment
        } catch {
            throw ActionError(error)
        }
    }

    private func describe(_ attachment: Attachment, _ target: Target, in draft: inout Draft) throws(ActionError) {
        guard let blob = target.blob else { return }
        do throws(JSONEditError) { draft.document = try blob.describe(attachment, in: draft.document) } catch {
            throw ActionError(error)
        }
    }

    var outsideFiles: OutsideFiles { source?.files ?? OutsideFiles() }

    /// The file's content represents it; its path does not matter.
    func writeCanonical(of element: SourceNode, to writer: inout JSONWriter) {
        if let elements = element.member(RuleStep.elementsKey) { writer.raw(elements.json) }
        let source = element.member(Self.name)
        if case .downloaded = file, let source { return writer.raw(source.json) }
        writer.object { writer in
            for name in ["name", "blob", "content_type"] {
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

// MARK: - Checks

extension AttachAction {
    /// A program may give nothing to attach, so a computed attachment is unknown.
    func add(_ argument: SourceNode, to prediction: inout RulePrediction) {
        let blob = prediction.blob(argument)
        guard let name = blob?.attachmentName ?? argument.member("name")?.text else {
            return prediction.addUnknownAttachment(argument)
        }
        let isNamed = (argument.member("file") ?? argument.member("url"))?.text != nil
        let isCertain =
            isNamed && argument.member("path")?.isComputed != true
            && argument.member("content_type")?.isComputed != true
        prediction.edits.append((["_attachments", name], isCertain ? .attached : .unknown))
        guard let blob else { return }
        prediction.addEdit(blob.pointer.tokens, isCertain ? .attached : .unknown)
        if isCertain { prediction.addEdit(blob.pointer.tokens + ["@type"], .set(Self.blobType)) }
    }

    /// The type of a blob, as JSON.
    private static var blobType: JSONText { SourceNode(content: .string("blob"), position: .start).jsonText }

    func warnings(_ element: SourceNode, of rule: Rule) -> [ActionWarning] {
        guard let length, length > Attachment.lengthLimit else { return ActionCheck.writesDeleted(element, rule) }
        let message =
            "the file has \(length) bytes; Sync Gateway accepts attachments of at most \(Attachment.lengthLimit) "
            + "bytes (20 MiB); make it smaller"
        return [(element.position, .largeAttachment, message)]
    }

    func blobWarnings(_ argument: SourceNode, _ check: BlobCheck, own: Set<BlobPlace>) -> [BlobCheck.Message] {
        BlobCheck.attachmentMessages(argument)
    }
}
