internal import Encodings
internal import LosslessJSON

/// Applies a JSON Merge Patch (RFC 7396).
struct MergeAction: Action {
    static let name = "merge"
    static let synonyms = ["set", "update", "$set", "add", "assign", "unset"]

    let patch: Template
    private let kind: RuleFileKind

    var programs: [Int] { patch.programs }

    /// Nil, with errors, if the patch is not an object or sets a member that rules may not change.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        guard case .object(let members) = node.content else {
            reading.errors.reportKind(
                of: node, "merge takes an object (a JSON Merge Patch) or { jq: PROGRAM }",
                remedy: "write merge: { field: value }; null removes a field")
            return nil
        }
        let reserved = members.filter { !reading.kind.mayWrite($0.name) }
        for member in reserved {
            reading.errors.report(
                at: member.position,
                "merge can't touch '\(member.name)': members that begin with '_' belong to the gateway; remove it"
                    + Self.remedy(member.name))
        }
        guard reserved.isEmpty, let patch = Template(node, reading) else { return nil }
        self.patch = patch
        kind = reading.kind
    }

    private static func remedy(_ member: String) -> String {
        switch member {
        case "_attachments": ", or use attach"
        case DocumentExpiry.member: ", or use expire"
        default: ""
        }
    }

    func apply(to draft: inout Draft, _ outputs: [[JSONText]]) throws(ActionError) {
        guard let patch = try patch.value(outputs, of: "merge") else { return }
        if self.patch.literal == nil { try check(patch, draft.document) }
        do throws(JSONEditError) { draft.document = try draft.document.merging(patch.root) } catch {
            throw ActionError(error)
        }
    }

    /// A program may return the whole document, but with the gateway's own members unchanged.
    private func check(_ patch: JSONText, _ document: JSONText) throws(ActionError) {
        guard patch.root.kind == .object else {
            throw .failed("merge takes an object; the program gives \(patch.excerpt)")
        }
        for member in patch.root.members {
            guard let name = member.name.string, !kind.mayWrite(name) else { continue }
            guard let current = document.root[name], current.isEquivalent(to: member.value) else {
                throw .failed("merge can't touch '\(name)'; remove it from the result with del(.\(name))")
            }
        }
    }
}

// MARK: - Checks

extension MergeAction {
    func add(_ argument: SourceNode, to prediction: inout RulePrediction) {
        if argument.isComputed { prediction.mayEditEverything = true } else { prediction.addMerge(argument, []) }
    }

    func blobWarnings(_ argument: SourceNode, _ check: BlobCheck, own: Set<BlobPlace>) -> [BlobCheck.Message] {
        BlobCheck.written(argument, []).compactMap { check.message($0, own) }
    }

    func computedMembers(_ argument: SourceNode) -> [ComputedMember] {
        argument.isComputed ? [] : ComputedMember.members(argument, [])
    }

    /// `merge: { jq: "{ createdAt: ($now | todate) }" }`.
    func jointlyComputedNames(_ argument: SourceNode) -> [String] {
        argument.isComputed ? argument.member("jq")?.text.map(ConstructedObject.names) ?? [] : []
    }
}
