internal import LosslessJSON

/// Checks one document and collects its violations. Strings are compared byte for byte, as gateways do.
struct TodoCheck {
    private let document: JSONValue
    private let hasAttachments: Bool
    private(set) var violations: [TodoViolation] = []

    /// - Precondition: The document is an object.
    init(_ document: JSONValue, hasAttachments: Bool) {
        self.document = document
        self.hasAttachments = hasAttachments
    }

    /// - Parameter collectionKind: The kind of all documents of the collection; nil if `type` names the kind.
    mutating func check(as collectionKind: TodoKind?) {
        let id = text(["_id"])
        guard let kind = kind(collectionKind) else { return }
        switch kind {
        case .taskList: checkTaskList(id)
        case .task: checkTask()
        case .listUser: checkListUser(id)
        case .moderator: checkModerator(id)
        }
    }

    /// Nil, with a violation, if it is unknown. In a collection of one kind, `type` may be omitted but must not name
    /// another kind.
    private mutating func kind(_ collectionKind: TodoKind?) -> TodoKind? {
        let type = document["type"]
        let kind = type?.string.flatMap(TodoKind.init(rawValue:))
        if let collectionKind {
            if type != nil, kind != collectionKind {
                report(["type"], "must be omitted: this collection contains \(collectionKind.name)")
            }
            return collectionKind
        }
        if kind == nil {
            let kinds = TodoKind.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            report(["type"], "\(type == nil ? "is missing; it must be" : "must be") one of \(kinds)")
        }
        return kind
    }

    // MARK: - The kinds

    private mutating func checkTaskList(_ id: [UInt8]?) {
        _ = text(["name"])
        guard let owner = text(["owner"]), let id else { return }
        checkPrefix(["_id"], id, owner: owner)
    }

    private mutating func checkTask() {
        _ = taskListID()
        _ = text(["task"])
        if let complete = document["complete"], complete.bool == nil { report(["complete"], "must be true or false") }
        checkImage()
        guard let createdAt = document["createdAt"] else { return }
        if createdAt.utf8.map({ ISOTime.isTime($0) }) != true {
            report(["createdAt"], "must be a time such as \"2026-11-20T10:00:00.000Z\"")
        }
    }

    /// The app shows a picture only if the member describes it, and an attachment has its bytes.
    private mutating func checkImage() {
        guard let image = document["image"], image.kind != .null else { return }
        guard image.kind == .object, image["@type"]?.isString("blob") == true else {
            return report(["image"], "must be a Couchbase Lite blob, {\"@type\":\"blob\",…}")
        }
        // "sha1-" and 20 bytes in base64.
        let digest = image["digest"]?.string ?? ""
        if !digest.hasPrefix("sha1-") || digest.utf8.count != 33 || !digest.hasSuffix("=") {
            report(["image", "digest"], "must be sha1- followed by the picture's SHA-1 in base64")
        }
        if let length = image["length"], length.integer == nil {
            report(["image", "length"], "must be a number of bytes")
        }
        if let type = image["content_type"], type.string == nil { report(["image", "content_type"], "must be text") }
        guard hasAttachments else { return }
        let attachments = document["_attachments"]
        guard let attachment = attachments?["blob_/image"] else {
            // Apps find the bytes by their digest.
            guard attachments?.members.contains(where: { $0.value["digest"]?.isString(digest) == true }) != true else {
                return
            }
            return report(["image"], "has no attachment 'blob_/image'")
        }
        if let other = attachment["digest"]?.string, other.hasPrefix("sha1-"), other != digest {
            report(["image", "digest"], "must be the digest of the attachment 'blob_/image', \(other)")
        }
    }

    private mutating func checkListUser(_ id: [UInt8]?) {
        let list = taskListID()
        guard let username = text(["username"]), let list, let id else { return }
        let wanted = list + Self.dot + username
        if id != wanted { report(["_id"], "must be taskList.id, a dot and username, \(Self.quoted(wanted))") }
    }

    private mutating func checkModerator(_ id: [UInt8]?) {
        guard let username = text(["username"]), let id else { return }
        let wanted = Array("moderator.".utf8) + username
        if id != wanted { report(["_id"], "must be moderator, a dot and username, \(Self.quoted(wanted))") }
    }

    // MARK: - Their parts

    /// The `id` of the document's task list; nil, with a violation, if there is none.
    private mutating func taskListID() -> [UInt8]? {
        guard let list = document["taskList"], list.kind == .object else {
            report(["taskList"], document["taskList"] == nil ? "is missing" : "must be an object with id and owner")
            return nil
        }
        let id = text(["taskList", "id"])
        guard let owner = text(["taskList", "owner"]), let id else { return id }
        checkPrefix(["taskList", "id"], id, owner: owner)
        return id
    }

    private mutating func checkPrefix(_ path: [String], _ id: [UInt8], owner: [UInt8]) {
        let prefix = owner + Self.dot
        if !id.starts(with: prefix) { report(path, "must begin with the owner and a dot, \(Self.quoted(prefix))") }
    }

    /// The bytes of a required, non-empty string; nil, with a violation, if it is missing, empty or not a string.
    private mutating func text(_ path: [String]) -> [UInt8]? {
        let value = path.reduce(Optional(document)) { $0?[$1] }
        guard let value else {
            report(path, "is missing")
            return nil
        }
        guard let text = value.utf8 else {
            report(path, "must be text")
            return nil
        }
        if text.isEmpty { report(path, "is empty") }
        return text.isEmpty ? nil : text
    }

    private mutating func report(_ path: [String], _ message: String) {
        violations.append(TodoViolation(pointer: JSONPointer(tokens: path), message: message))
    }

    private static let dot = [UInt8(ascii: ".")]

    /// The text as JSON, so that it stays on one line; truncated if it is long.
    private static func quoted(_ text: [UInt8]) -> String {
        let limit = 200
        let shown = String(decoding: text.prefix(limit), as: UTF8.self) + (text.count > limit ? "…" : "")
        var writer = JSONWriter()
        writer.string(shown)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
