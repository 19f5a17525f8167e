internal import Encodings
internal import LosslessJSON

extension RuleOutlook {
    /// Reads from a rule's `then` what it does. An action with an unknown name acts outside the document.
    ///
    /// - Parameter includesElements: Whether actions with `for_each` count.
    init(of rule: Rule, includesElements: Bool = true) {
        kind = rule.kind
        guard case .list(let actions)? = rule.source.member("then")?.content else { return }
        for action in actions where includesElements || !action.hasElements {
            guard let member = action.actionMember else { continue }
            let before = touched.count
            add(member.name, member.value)
            // There may be no element.
            if action.hasElements { for index in before..<touched.count { touched[index].touch = .unknown } }
        }
    }

    private mutating func add(_ action: String, _ argument: SourceNode) {
        switch action {
        case "attach": addAttachment(argument)
        case "detach": addDetachment(argument)
        case "merge" where argument.isComputed: touchesEverything = true
        case "merge": addMerge(argument, [])
        case "patch": addPatch(argument)
        case "expire": addExpiry(argument)
        case "delete": deletes = true
        case "webhook":
            writesOther = true
            guard let merge = argument.member("response")?.member("merge") else { return }
            if merge.isComputed { touchesEverything = true } else { addMerge(merge, []) }
        // It neither touches the document nor repeats anything.
        case "aggregate", "resolve": break
        default: writesOther = true
        }
    }

    /// A program may give nothing to attach, so a computed attachment is unknown.
    private mutating func addAttachment(_ argument: SourceNode) {
        let blob = blob(argument)
        guard let name = blob?.attachmentName ?? argument.member("name")?.text else {
            return addUnknownAttachment(argument)
        }
        let isNamed = (argument.member("file") ?? argument.member("url"))?.text != nil
        let isCertain =
            isNamed && argument.member("path")?.isComputed != true
            && argument.member("content_type")?.isComputed != true
        touched.append((["_attachments", name], isCertain ? .attached : .unknown))
        guard let blob else { return }
        touch(blob.pointer.tokens, isCertain ? .attached : .unknown)
        if isCertain { touch(blob.pointer.tokens + ["@type"], .set(SourceNode.blobType)) }
    }

    /// A computed blob may be any member.
    private mutating func addUnknownAttachment(_ argument: SourceNode) {
        touched.append((["_attachments"], .unknown))
        if argument.member("blob") != nil { touchesEverything = true }
    }

    /// Nil if the action names no blob, or a program names it.
    private func blob(_ argument: SourceNode) -> BlobPlace? {
        argument.member("blob")?.text.flatMap { try? BlobPlace($0, kind) }
    }

    private mutating func addDetachment(_ argument: SourceNode) {
        let blob = blob(argument)
        guard let name = argument.text ?? blob?.attachmentName ?? argument.member("name")?.text else {
            return addUnknownAttachment(argument)
        }
        touched.append((["_attachments", name], .removed))
        // It stays if it is not a blob.
        if let blob { touch(blob.pointer.tokens, .unknown) }
    }

    private mutating func addExpiry(_ argument: SourceNode) {
        touched.append(
            (
                [DocumentExpiry.member],
                argument.isComputed ? .unknown : ExpireAction.removes(argument) ? .removed : .attached
            ))
    }

    /// Recurses as deep as a rule file may be nested.
    private mutating func addMerge(_ patch: SourceNode, _ path: [String]) {
        switch patch.content {
        case .object(let members) where patch.isComputed || members.isEmpty:
            if !path.isEmpty { touched.append((path, .unknown)) }
        case .object(let members): for member in members { addMerge(member.value, path + [member.name]) }
        case .null: touched.append((path, .removed))
        case .bool, .number, .string, .list: touched.append((path, Self.value(patch)))
        }
    }

    /// Adds a member that a document sets. Recurses as deep as a rule file may be nested.
    ///
    /// - Parameter isMerge: Objects keep their other members, and null removes one.
    mutating func addValue(_ node: SourceNode, _ path: [String], isMerge: Bool) {
        if isMerge { return addMerge(node, path) }
        guard node.hasComputedParts, !node.isComputed, case .object(let members) = node.content else {
            return touched.append((path, Self.value(node)))
        }
        for member in members { addValue(member.value, path + [member.name], isMerge: false) }
    }

    private static func value(_ node: SourceNode) -> Touch { node.hasComputedParts ? .unknown : .set(node.jsonText) }
}

// MARK: - JSON Patch

extension RuleOutlook {
    private mutating func addPatch(_ argument: SourceNode) {
        guard case .list(let operations) = argument.content else {
            touchesEverything = true
            return
        }
        for operation in operations { addOperation(operation) }
    }

    private mutating func addOperation(_ operation: SourceNode) {
        guard let name = operation.member("op")?.text, let path = Self.path(operation.member("path")) else {
            touchesEverything = true
            return
        }
        switch name {
        case "test": isGuarded = true
        case "remove": touch(path, .removed)
        case "add", "replace": touch(path, operation.member("value").map(Self.value) ?? .unknown)
        case "move":
            if let origin = Self.path(operation.member("from")) {
                touch(origin, .removed)
            } else {
                touchesEverything = true
            }
            touch(path, .unknown)
        default: touch(path, .unknown)
        }
    }

    /// An operation on a list element shifts others, so it counts as a change of the list.
    private mutating func touch(_ path: [String], _ touch: Touch) {
        let position = path.firstIndex { $0 == "-" || !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
        if let position {
            touched.append((Array(path[..<position]), .unknown))
        } else {
            touched.append((path, touch))
        }
    }

    /// Nil if the pointer is computed or names the whole document.
    private static func path(_ node: SourceNode?) -> [String]? {
        guard let text = node?.text else { return nil }
        return try? JSONPointer(text).tokens
    }
}

extension SourceNode {
    /// Whether a program computes any part of it.
    var hasComputedParts: Bool {
        switch content {
        case .null, .bool, .number, .string: false
        case .list(let elements): elements.contains(where: \.hasComputedParts)
        case .object(let members): isComputed || members.contains { $0.value.hasComputedParts }
        }
    }
}

extension SourceNode {
    /// The type of a blob, as JSON.
    fileprivate static var blobType: JSONText { SourceNode(content: .string("blob"), position: .start).jsonText }

    /// A non-empty string; nil for anything else.
    var text: String? {
        if case .string(let text) = content, !text.isEmpty { text } else { nil }
    }
}
