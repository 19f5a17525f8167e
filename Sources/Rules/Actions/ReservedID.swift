/// Ids that begin with `_` are the gateway's: design documents run code with an administrator's rights, and in local
/// documents the bots keep their marks. What a document says must not decide that one of them is written.
enum ReservedID {
    private static let designPrefix = "_design/"

    /// Reports ids that stand in a rule file and that its `put` may not write.
    ///
    /// - Parameters:
    ///   - nodes: Where the ids stand, computed ones included.
    ///   - put: Says `allow_design: true`, or does not.
    static func check(_ nodes: [SourceNode], of put: SourceObject) {
        let allowsDesign = readPermission(put)
        var isForDesign = false
        for node in nodes {
            guard let id = node.text, id.begins(with: "_") else { continue }
            let isDesign = id.begins(with: designPrefix) && id.utf8.count > designPrefix.utf8.count
            isForDesign = isForDesign || isDesign
            if !isDesign {
                put.faults.report(
                    at: node.position, "gateways refuse ids that begin with '_' ('\(id)'); choose another one")
            } else if !allowsDesign {
                put.faults.report(
                    at: node.position,
                    "'\(id)' is a design document, which can run code; if that is meant, write allow_design: true")
            }
        }
        if allowsDesign, !isForDesign, let node = put.node("allow_design") {
            put.faults.report(
                at: node.position,
                "'allow_design' is for an id that is written out and begins with '_design/'; a computed id may never "
                    + "begin with '_': remove it")
        }
    }

    private static func readPermission(_ put: SourceObject) -> Bool {
        guard let node = put.node("allow_design") else { return false }
        if case .bool(let isAllowed) = node.content { return isAllowed }
        put.faults.reportKind(of: node, "'allow_design' must be true or false", remedy: "write one of them")
        return false
    }

    /// Why a rule may not write a document of this id.
    static func refusal(ofComputed id: String) -> String {
        "put: a computed id can't begin with '_' ('\(id)'): such documents are the gateway's; put a prefix before it"
    }

    /// Why a mapping may not give a document this id; nil if it may. One that came with the id keeps it.
    static func fault(inMapping id: String?, was original: String?) -> Decision.Fault? {
        guard let id, id.begins(with: "_"), original?.isSame(as: id) != true else { return nil }
        return Decision.Fault(
            rule: nil,
            reason: "its '_id' becomes '\(id)': a mapping can't make ids that begin with '_', such documents are the "
                + "gateway's; put a prefix before it")
    }
}
