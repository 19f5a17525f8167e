internal import GatewayClient
internal import LosslessJSON

/// Lines of an export that are not the text of the gateway.
enum ExportLine {
    /// Can't clash with a document: gateways refuse members of their own choosing that begin with `_`.
    private static let mark = "_withdrawn"

    /// A line that withdraws the earlier line of a document that no longer belongs to the export. It exists only on
    /// disk while the export is unfinished, never in a finished one.
    static func withdrawal(of id: DocumentID) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("_id", string: id.text)
            writer.member(mark, bool: true)
        }
        return writer.bytes
    }

    static func isWithdrawal(_ document: JSONValue) -> Bool { document[mark]?.bool == true }

    /// A tombstone that the gateway sent no text of.
    static func tombstone(of id: DocumentID, _ revision: RevisionID?) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("_id", string: id.text)
            writer.member("_rev", string: revision?.text ?? "")
            writer.member("_deleted", bool: true)
        }
        return writer.bytes
    }
}
