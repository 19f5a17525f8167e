internal import Encodings
internal import LosslessJSON

extension RulePrediction {
    /// Reads what a rule does from its `then`.
    ///
    /// - Parameter includesElements: Whether actions with `for_each` count.
    init(of rule: Rule, includesElements: Bool = true) {
        kind = rule.kind
        for placed in rule.locatedSteps where includesElements || placed.step.elements == nil {
            let before = edits.count
            placed.step.action.add(placed.argument, to: &self)
            // The program may give no element.
            if placed.step.elements != nil { for index in before..<edits.count { edits[index].edit = .unknown } }
        }
    }

    /// A computed blob may affect any member.
    mutating func addUnknownAttachment(_ argument: SourceNode) {
        edits.append((["_attachments"], .unknown))
        if argument.member("blob") != nil { mayEditEverything = true }
    }

    /// Nil if the action names no blob, or a program names the blob.
    func blob(_ argument: SourceNode) -> BlobPlace? {
        argument.member("blob")?.text.flatMap { try? BlobPlace($0, kind) }
    }

    /// Recurses as deep as a rule file may be nested.
    mutating func addMerge(_ patch: SourceNode, _ path: [String]) {
        switch patch.content {
        case .object(let members) where patch.isComputed || members.isEmpty:
            if !path.isEmpty { edits.append((path, .unknown)) }
        case .object(let members): for member in members { addMerge(member.value, path + [member.name]) }
        case .null: edits.append((path, .removed))
        case .bool, .number, .string, .list: edits.append((path, Self.value(patch)))
        }
    }

    /// Adds a member that a document sets. Recurses as deep as a rule file may be nested.
    ///
    /// - Parameter isMerge: Whether objects keep their other members, and null removes a member.
    mutating func addValue(_ node: SourceNode, _ path: [String], isMerge: Bool) {
        if isMerge { return addMerge(node, path) }
        guard node.hasComputedParts, !node.isComputed, case .object(let members) = node.content else {
            return edits.append((path, Self.value(node)))
        }
        for member in members { addValue(member.value, path + [member.name], isMerge: false) }
    }

    static func value(_ node: SourceNode) -> Edit { node.hasComputedParts ? .unknown : .set(node.jsonText) }

    /// An operation on a list element shifts other elements, so it counts as a change of the list.
    mutating func addEdit(_ path: [String], _ edit: Edit) {
        let position = path.firstIndex { $0 == "-" || !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
        if let position {
            edits.append((Array(path[..<position]), .unknown))
        } else {
            edits.append((path, edit))
        }
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
    /// A non-empty string; nil for anything else.
    var text: String? {
        if case .string(let text) = content, !text.isEmpty { text } else { nil }
    }
}
