internal import GatewayClient
internal import LosslessJSON

/// A line that withdraws the earlier line of a document that no longer belongs into the export. It is on the disk as long
/// as the export is unfinished, and never part of a finished one.
enum Withdrawal {
    /// No gateway lets a document have a member of its own that begins with `_`.
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
