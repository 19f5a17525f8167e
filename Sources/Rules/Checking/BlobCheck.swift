internal import LosslessJSON

/// Finds actions that write or remove one part of a blob and leave the other.
struct BlobCheck {
    /// Blobs that any rule attaches, detaches or selects.
    private let known: Set<BlobPlace>

    init(_ rules: [Rule]) {
        known = rules.reduce(into: []) { known, rule in
            for action in Self.actions(rule.source.member("then")) {
                let actions = action.name == "related" ? Self.actions(action.argument.member("then")) : [action]
                known.formUnion(actions.compactMap { Self.place($0.argument, rule.kind) })
            }
            if let when = rule.source.member("when") { known.formUnion(Self.selected(when, [])) }
        }
    }

    func warnings(_ rule: Rule) -> [RuleWarning] {
        messages(in: rule.source.member("then"), rule.kind).map { position, message in
            RuleWarning(path: rule.path, position: position, rule: rule.name, code: .halfBlob, message: message)
        }
    }

    /// What is wrong in a list of actions about one document, and in those about related ones.
    private func messages(in list: SourceNode?, _ kind: RuleFileKind) -> [Message] {
        let actions = Self.actions(list)
        let own = Set(actions.compactMap { Self.place($0.argument, kind) })
        return actions.flatMap { action in
            action.name == "related" ? messages(in: action.argument.member("then"), kind) : messages(action, own)
        }
    }

    private typealias Message = (SourcePosition, String)

    private func messages(_ action: NamedAction, _ own: Set<BlobPlace>) -> [Message] {
        let argument = action.argument
        switch action.name {
        case "attach", "detach":
            guard let name = argument.text ?? argument.member("name")?.text,
                let place = BlobPlace(attachmentName: name)
            else { return [] }
            return [
                (
                    (argument.member("name") ?? argument).position,
                    "'\(DisplayText.plain(name))' is the attachment of a blob, and its member stays as it is; "
                        + "write blob: \(place.pointer)"
                )
            ]
        case "merge":
            return argument.isComputed ? [] : written(argument, []).compactMap { message($0, own) }
        case "patch":
            guard case .list(let operations) = argument.content else { return [] }
            return operations.flatMap(Self.changes).compactMap { message($0, own) }
        case "put":
            guard let document = argument.member("document"), !document.isComputed else { return [] }
            return written(document, []).compactMap { message(ofPut: $0, document) }
        default: return []
        }
    }

    private func message(ofPut change: Change, _ document: SourceNode) -> Message? {
        let place = BlobPlace(JSONPointer(tokens: change.tokens))
        guard change.value?.member("@type")?.text == "blob",
            document.member("_attachments")?.member(place.attachmentName) == nil
        else { return nil }
        return (
            change.position,
            "'\(place.pointer)' of the other document becomes a blob without its attachment; attach it with a rule for "
                + "that document"
        )
    }

    private struct NamedAction {
        let name: String
        let argument: SourceNode
    }

    private struct Change {
        let tokens: [String]
        /// Nil: the member is removed.
        let value: SourceNode?
        let position: SourcePosition
    }

    private func message(_ change: Change, _ own: Set<BlobPlace>) -> Message? {
        let place = BlobPlace(JSONPointer(tokens: change.tokens))
        guard !own.contains(place) else { return nil }
        if let value = change.value, value.member("@type")?.text == "blob" {
            return (
                change.position,
                "'\(place.pointer)' becomes a blob without its attachment; write attach: { blob: \(place.pointer), … }"
            )
        }
        guard known.contains(place) else { return nil }
        return (
            change.position,
            "this leaves the attachment of the blob '\(place.pointer)'; write detach: { blob: \(place.pointer) } before it"
        )
    }

    /// The members that a merge sets or removes. Recurses as deep as a rule file may be nested.
    private func written(_ patch: SourceNode, _ path: [String]) -> [Change] {
        guard case .object(let members) = patch.content, !patch.isComputed, patch.member("@type")?.text != "blob" else {
            let isComputed = patch.isComputed
            return isComputed || path.isEmpty
                ? [] : [Change(tokens: path, value: patch.isNull ? nil : patch, position: patch.position)]
        }
        return members.flatMap { written($0.value, path + [$0.name]) }
    }

    private static func changes(_ operation: SourceNode) -> [Change] {
        guard let name = operation.member("op")?.text, ["add", "replace", "remove", "move"].contains(name),
            let path = operation.member(name == "move" ? "from" : "path")?.text, let pointer = try? JSONPointer(path)
        else { return [] }
        let value = ["add", "replace"].contains(name) ? operation.member("value") : nil
        return value?.isComputed == true
            ? [] : [Change(tokens: pointer.tokens, value: value, position: operation.position)]
    }

    private static func actions(_ list: SourceNode?) -> [NamedAction] {
        guard case .list(let elements)? = list?.content else { return [] }
        return elements.compactMap(\.actionMember).map { NamedAction(name: $0.name, argument: $0.value) }
    }

    private static func place(_ argument: SourceNode, _ kind: RuleFileKind) -> BlobPlace? {
        argument.member("blob")?.text.flatMap { try? BlobPlace($0, kind) }
    }

    /// The members that a selector wants to be blobs: `image.@type: blob`, or `image: { "@type": blob }`.
    private static func selected(_ selector: SourceNode, _ path: [String]) -> [BlobPlace] {
        guard case .object(let members) = selector.content else { return [] }
        return members.flatMap { member -> [BlobPlace] in
            if member.name == "$and", case .list(let parts) = member.value.content {
                return parts.flatMap { selected($0, path) }
            }
            guard !member.name.hasPrefix("$") else { return [] }
            let steps = path + member.name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard steps.last == "@type", steps.count > 1 else { return selected(member.value, steps) }
            let isBlob = member.value.text == "blob" || member.value.member("$eq")?.text == "blob"
            return isBlob ? [BlobPlace(JSONPointer(tokens: steps.dropLast()))] : []
        }
    }
}
