internal import LosslessJSON

/// Finds actions that write or remove one part of a blob and leave the other.
struct BlobCheck {
    /// Blobs that any rule attaches, detaches or selects.
    private let known: Set<BlobPlace>

    init(_ rules: [Rule]) {
        known = rules.reduce(into: []) { known, rule in
            for placed in rule.locatedSteps {
                let related = (placed.step.action as? RelatedAction)?.rule.locatedSteps
                known.formUnion((related ?? [placed]).compactMap { Self.place($0.argument, rule.kind) })
            }
            if let when = rule.definition.source.member("when") { known.formUnion(Self.selected(when, [])) }
        }
    }

    func warnings(_ rule: Rule) -> [RuleWarning] {
        messages(rule).map { position, message in
            RuleWarning(
                path: rule.definition.path, position: position, rule: rule.name, code: .halfBlob, message: message)
        }
    }

    typealias Message = (SourcePosition, String)

    /// What is wrong in the actions of a rule, and in those about related documents.
    func messages(_ rule: Rule) -> [Message] {
        let steps = rule.locatedSteps
        let own = Set(steps.compactMap { Self.place($0.argument, rule.kind) })
        return steps.flatMap { $0.step.action.blobWarnings($0.argument, self, own: own) }
    }

    /// For an action that names an attachment.
    static func attachmentMessages(_ argument: SourceNode) -> [Message] {
        guard let name = argument.text ?? argument.member("name")?.text,
            let place = BlobPlace(attachmentName: name)
        else { return [] }
        return [
            (
                (argument.member("name") ?? argument).position,
                "'\(DisplayText.plain(name))' is the attachment of a blob, whose member would stay unchanged; write "
                    + "blob: \(place.pointer)"
            )
        ]
    }

    static func message(ofPut change: Change, _ document: SourceNode) -> Message? {
        let place = BlobPlace(JSONPointer(tokens: change.tokens))
        guard change.makesBlob else { return nil }
        // A program may also give the attachments.
        if place.pointer.tokens.isEmpty || change.program != nil {
            return (
                change.position,
                "the other document gets a blob without its attachment; attach it with a rule for that document"
            )
        }
        guard document.member("_attachments")?.member(place.attachmentName) == nil else { return nil }
        return (
            change.position,
            "'\(place.pointer)' of the other document becomes a blob without its attachment; attach it with a rule for "
                + "that document"
        )
    }

    struct Change {
        let tokens: [String]
        /// Nil: the member is removed, or a program gives its value.
        let value: SourceNode?
        /// The tokens of the program that gives its value.
        var program: [String]?
        let position: SourcePosition

        var makesBlob: Bool {
            if let program { return program.joined(separator: " ").contains(#""@type" : "blob""#) }
            return value?.member("@type")?.text == "blob"
        }

        /// Whether the member is certainly not a blob afterwards.
        var makesNoBlob: Bool {
            guard let program else { return !makesBlob }
            return program.count == 1 && program.allSatisfy(Self.isLiteral)
        }

        private static func isLiteral(_ token: String) -> Bool {
            ["null", "true", "false"].contains(token) || token.first.map { $0 == "\"" || $0.isNumber } == true
        }
    }

    func message(_ change: Change, _ own: Set<BlobPlace>) -> Message? {
        let place = BlobPlace(JSONPointer(tokens: change.tokens))
        guard !own.contains(place) else { return nil }
        if change.makesBlob, place.pointer.tokens.isEmpty {
            // Only the program knows which member it is.
            guard own.isEmpty else { return nil }
            return (change.position, "the program makes a blob without its attachment; write attach: { blob: …, … }")
        }
        if change.makesBlob {
            return (
                change.position,
                "'\(place.pointer)' becomes a blob without its attachment; write attach: { blob: \(place.pointer), … }"
            )
        }
        guard known.contains(place), change.makesNoBlob else { return nil }
        return (
            change.position,
            "this leaves the attachment of the blob '\(place.pointer)' behind; write detach: { blob: "
                + "\(place.pointer) } before it"
        )
    }

    /// The members that a merge sets or removes. Recurses as deep as a rule file may be nested.
    static func written(_ patch: SourceNode, _ path: [String]) -> [Change] {
        if patch.isComputed { return computed(patch, path) }
        guard case .object(let members) = patch.content, patch.member("@type")?.text != "blob" else {
            return path.isEmpty
                ? [] : [Change(tokens: path, value: patch.isNull ? nil : patch, position: patch.position)]
        }
        return members.flatMap { written($0.value, path + [$0.name]) }
    }

    /// The members that the program's text is known to set: those of the object that it constructs, or the whole value.
    private static func computed(_ node: SourceNode, _ path: [String]) -> [Change] {
        guard let program = node.member("jq")?.text else { return [] }
        let members = ConstructedObject.members(program)
        let isBlob = members.contains { $0.name == "@type" && $0.value == [#""blob""#] }
        let tokens = ProgramTokens(program)
        let all = tokens.ranges.indices.map(tokens.text)
        let whole = Change(tokens: path, value: nil, program: all, position: node.position)
        guard !members.isEmpty, !isBlob else { return [whole] }
        return members.map {
            Change(tokens: path + [$0.name], value: nil, program: $0.value, position: node.position)
        }
    }

    static func changes(_ operation: SourceNode) -> [Change] {
        guard let name = operation.member("op")?.text, ["add", "replace", "remove", "move"].contains(name),
            let path = operation.member(name == "move" ? "from" : "path")?.text, let pointer = try? JSONPointer(path)
        else { return [] }
        let value = ["add", "replace"].contains(name) ? operation.member("value") : nil
        guard let value, value.isComputed else {
            return [Change(tokens: pointer.tokens, value: value, position: operation.position)]
        }
        return computed(value, pointer.tokens)
    }

    private static func place(_ argument: SourceNode, _ kind: RuleFileKind) -> BlobPlace? {
        argument.member("blob")?.text.flatMap { try? BlobPlace($0, kind) }
    }

    /// The members that a selector requires to be blobs: `image.@type: blob`, or `image: { "@type": blob }`.
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
