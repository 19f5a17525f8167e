internal import GatewayClient
internal import LosslessJSON

/// An attachment of a document whose bytes are elsewhere: `{"stub":true,"digest":…,"length":…,…}`.
struct AttachmentStub: Sendable {
    let name: String
    let digest: AttachmentDigest?
    let byteCount: Int?
    /// Where the stub stands in the document's text: the object with its brackets.
    let range: Range<Int>
    /// Its member `"stub":true`.
    let markRange: Range<Int>

    /// The stubs of a document, in the order of the text; none if it has no attachments, or they are inline.
    static func all(of document: JSONValue) -> [AttachmentStub] {
        guard let attachments = document.member(named: attachmentsName), attachments.kind == .object else { return [] }
        return attachments.members.compactMap { AttachmentStub(name: $0.name, $0.value) }
    }

    private static let attachmentsName = Array("_attachments".utf8)

    private init?(name: JSONValue, _ value: JSONValue) {
        guard let name = name.string,
            let mark = value.members.first(where: { $0.name.isString("stub".utf8) && $0.value.kind == .true })
        else { return nil }
        self.name = name
        digest = value["digest"]?.string.flatMap { AttachmentDigest($0) }
        byteCount = value["length"]?.integer
        range = value.range
        markRange = mark.range
    }
}
