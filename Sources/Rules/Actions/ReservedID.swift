/// Ids that begin with `_` belong to the gateway: design documents run code with administrator rights, and bots keep
/// their marks in local documents. The content of a document must never cause a write to such a document.
enum ReservedID {
    private static let designPrefix = "_design/"

    /// Reports literal ids that a `put` can't write.
    ///
    /// - Parameters:
    ///   - nodes: The ids, computed ones included.
    ///   - put: `allow_design: true` in it permits design documents.
    static func check(_ nodes: [SourceNode], of put: SourceObject) {
        let allowsDesign = readPermission(put)
        var isForDesign = false
        for node in nodes {
            guard let id = node.text, id.begins(with: "_") else { continue }
            let isDesign = id.begins(with: designPrefix) && id.utf8.count > designPrefix.utf8.count
            isForDesign = isForDesign || isDesign
            if !isDesign {
                put.errors.report(
                    at: node.position, "gateways refuse ids that begin with '_' ('\(id)'); choose another one")
            } else if !allowsDesign {
                put.errors.report(
                    at: node.position,
                    "'\(id)' is a design document, which can run code; if that is intended, write allow_design: true")
            }
        }
        if allowsDesign, !isForDesign, let node = put.node("allow_design") {
            put.errors.report(
                at: node.position,
                "'allow_design' is only for a literal id that begins with '_design/', and a computed id may never "
                    + "begin with '_'; remove it")
        }
    }

    private static func readPermission(_ put: SourceObject) -> Bool {
        guard let node = put.node("allow_design") else { return false }
        if case .bool(let isAllowed) = node.content { return isAllowed }
        put.errors.reportKind(of: node, "'allow_design' must be true or false", remedy: "write one of them")
        return false
    }

    /// The message for a rule that may not write a document with this id.
    static func refusal(ofComputed id: String) -> String {
        "put: a computed id can't begin with '_' ('\(id)'): such documents belong to the gateway; add a prefix"
    }

    /// Why a mapping can't give a document this id. Nil if it can, or if the document already had this id.
    static func error(inMapping id: String?, was original: String?) -> DecisionError? {
        guard let id, id.begins(with: "_"), original?.isSame(as: id) != true else { return nil }
        return DecisionError(
            rule: nil,
            reason: "its '_id' becomes '\(id)', but a mapping can't create ids that begin with '_', which belong to "
                + "the gateway; add a prefix")
    }
}
