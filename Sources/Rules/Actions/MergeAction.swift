internal import LosslessJSON

/// Applies a JSON Merge Patch (RFC 7396) that the rule file spells out.
struct MergeAction: Sendable {
    private let patch: JSONText

    /// Nil, with faults, if the patch is no object or names a member that is not a rule's to change.
    init?(_ node: SourceNode, _ faults: SourceFaults) {
        guard case .object(let members) = node.content else {
            faults.report(
                at: node.position, "merge takes an object (a JSON Merge Patch), not \(node.kindName); null removes")
            return nil
        }
        if members.count == 1, members[0].name == "jq" {
            faults.report(
                at: members[0].position, "a patch can't be computed by jq in this version; write the patch itself")
            return nil
        }
        let reserved = members.filter { $0.name.hasPrefix("_") }
        for member in reserved {
            faults.report(
                at: member.position,
                "merge can't touch '\(member.name)': members that begin with '_' are the gateway's; remove it"
                    + (member.name == "_attachments" ? ", or use attach" : ""))
        }
        guard reserved.isEmpty else { return nil }
        patch = node.jsonText
    }

    func apply(to draft: inout Draft) throws(JSONEditFault) {
        draft.document = try draft.document.merging(patch.root)
    }

    func writeCanonical(to writer: inout JSONWriter) {
        writer.object { $0.member("merge", raw: patch.bytes) }
    }
}
