internal import GatewayClient
internal import LosslessJSON

/// A line that withdraws the earlier line of a document that no longer belongs to the export. It exists only on disk
/// while the export is unfinished, never in a finished one.
enum Withdrawal {
    /// Can't clash with a document: gateways refuse members of their own choosing that begin with `_`.
    private static let mark = "_withdrawn"

    static func line(of id: DocumentID) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("_id", string: id.text)
            writer.member(mark, bool: true)
        }
        return writer.bytes
    }

    static func isOne(_ document: JSONValue) -> Bool { document[mark]?.bool == true }
}
