internal import LosslessJSON

/// The path of a member that a rule names in `changed` or `remember`: `complete`, `address.city`.
struct MemberPath: Sendable, Hashable {
    /// As in the rule file.
    let text: String
    let path: FieldPath

    /// The member's value. Nil if the document has none.
    func value(in document: JSONValue) -> JSONValue? {
        if case .found(let value) = path.lookUp(in: document) { value } else { nil }
    }

    /// The digest of its value.
    func digest(in document: JSONValue) -> MemberDigest {
        value(in: document).map { MemberDigest($0, areAttachments: isAttachmentsMember) } ?? .missing
    }

    private static let attachments = Array("_attachments".utf8)
    /// Whether it is `_attachments`, or a part of it.
    var isAttachmentsMember: Bool { path.steps.first?.name == Self.attachments }

    /// Whether the members are the same, or one contains the other.
    func overlaps(_ other: FieldPath) -> Bool {
        zip(path.steps, other.steps).allSatisfy { $0.name == $1.name }
    }
}

// MARK: - Reading

extension MemberPath {
    /// The names of members that describe the revision, not the content.
    private static let versions = ["_rev", "_cv", "_revisions", "_revs_info", "_conflicts", "_deleted", "_removed"]

    /// Reads a list of names. Nil, with errors, if a name is invalid.
    static func list(_ node: SourceNode, _ key: String, _ errors: SourceErrors) -> [MemberPath]? {
        guard case .list(let elements) = node.content, !elements.isEmpty else {
            let names = node.text.map { DisplayText.plain($0) } ?? "complete, address.city"
            errors.report(at: node.position, "'\(key)' must be a list of member names; write \(key): [\(names)]")
            return nil
        }
        var paths: [MemberPath] = []
        for element in elements {
            guard let path = read(element, key, errors) else { continue }
            if let other = paths.first(where: { $0.overlaps(path.path) }) {
                let problem =
                    other.path == path.path
                    ? "are the same member; remove one" : "overlap; keep the shorter name, which includes the other"
                errors.report(at: element.position, "'\(path.text)' and '\(other.text)' \(problem)")
            }
            paths.append(path)
        }
        return paths.count == elements.count ? paths : nil
    }

    private static func read(_ node: SourceNode, _ key: String, _ errors: SourceErrors) -> MemberPath? {
        guard let text = node.text, let path = FieldPath(text), let first = path.steps.first else {
            errors.report(
                at: node.position,
                "'\(key)' must list member names, written as in selectors: complete, or address.city for a nested "
                    + "member; correct this name")
            return nil
        }
        let name = String(decoding: first.name, as: UTF8.self)
        if let refusal = refusal(of: name, key) {
            errors.report(at: node.position, refusal)
            return nil
        }
        if let step = path.steps.first(where: { $0.position != nil }) {
            let index = String(decoding: step.name, as: UTF8.self)
            errors.report(
                at: node.position,
                "'\(text)' names a list element by its index (\(index)), but elements move when others are added or "
                    + "removed; name the whole list")
            return nil
        }
        return MemberPath(text: text, path: path)
    }

    private static func refusal(of name: String, _ key: String) -> String? {
        switch name {
        case "_id": "'_id' never changes; name another member in '\(key)', or remove it"
        case "_exp": "'_exp' is not in the changes feed, so a rule can't compare it; name another member in '\(key)'"
        case "_attachments" where key == "remember":
            "'_attachments' can't be remembered: only 'changed' may name it; remove it"
        case let name where versions.contains(name):
            "'\(name)' describes the revision, not the content, and differs in each revision; name members of the "
                + "content in '\(key)'"
        default: nil
        }
    }
}
