internal import GatewayClient
package import LosslessJSON

/// The body of a revision in a request to the target: as sent by the source, but without members that only the source
/// knows, and with the attachments in the form for the target.
package enum ReplicatedBody {
    /// Members that the source adds and other servers refuse.
    private static let omittedMembers: Set<String> = ["_cv", "_attachments"]

    /// - Parameter entries: The entries of `_attachments`; if empty, there is no such member.
    package static func bytes(of text: JSONText, attachments entries: [(name: String, json: [UInt8])]) -> [UInt8] {
        let root = text.root
        if entries.isEmpty, root["_cv"] == nil, root["_attachments"] == nil { return Array(root.bytes) }
        var body = JSONWriter(minimumCapacity: text.bytes.count + entries.reduce(0) { $0 + $1.json.count + 40 })
        body.object { body in
            for member in root.members where !omittedMembers.contains(member.name.string ?? "") {
                body.raw(text.bytes[member.range])
            }
            guard !entries.isEmpty else { return }
            body.name("_attachments")
            body.object { body in
                for entry in entries { body.member(entry.name, raw: entry.json) }
            }
        }
        return body.bytes
    }

    /// The entry for an attachment that the target already has.
    static func stub(_ stub: AttachmentStub, of text: JSONText) -> [UInt8] { Array(text.bytes[stub.range]) }

    /// The entry for an attachment that is sent inline.
    static func inline(_ stub: AttachmentStub, of text: JSONText, base64: [UInt8]) -> [UInt8] {
        var entry = JSONWriter(minimumCapacity: base64.count + 120)
        entry.object { entry in
            if let type = stub.contentType { entry.member("content_type", string: type) }
            let position = text.root["_attachments"]?[stub.name]?["revpos"]?.integer
            if let position { entry.member("revpos", integer: position) }
            entry.member("data", raw: [UInt8(ascii: "\"")] + base64 + [UInt8(ascii: "\"")])
        }
        return entry.bytes
    }
}
