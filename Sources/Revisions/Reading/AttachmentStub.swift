package import GatewayClient
package import LosslessJSON

/// An attachment whose bytes are not in its document: `{"stub":true,"digest":…,"length":…,…}`.
package struct AttachmentStub: Sendable {
    package let name: String
    package let digest: AttachmentDigest?
    package let byteCount: Int?
    package let contentType: String?
    /// Whether the stub gives the compressed length separately. If so, ``byteCount`` is not the length that is served.
    package let hasEncoding: Bool
    /// Length of the compressed bytes; nil if the stub does not give it.
    private let encodedByteCount: Int?
    /// The stub's range in the document's text: the object with its brackets.
    package let range: Range<Int>
    /// The range of its member `"stub":true`.
    package let markRange: Range<Int>
    /// The range of the number after `"length":`.
    package let byteCountRange: Range<Int>?

    /// How many bytes a gateway sends without decompressing; nil if the stub does not say.
    package var storedByteCount: Int? { hasEncoding ? encodedByteCount : byteCount }

    /// The stubs of a document in text order; empty if it has no attachments or they are inline.
    package static func all(of document: JSONValue) -> [AttachmentStub] {
        guard let attachments = document["_attachments"], attachments.kind == .object else { return [] }
        return attachments.members.compactMap { AttachmentStub(name: $0.name, $0.value) }
    }

    private init?(name: JSONValue, _ value: JSONValue) {
        guard let name = name.string,
            let mark = value.members.first(where: { $0.name.isString("stub") && $0.value.kind == .true })
        else { return nil }
        self.name = name
        digest = value["digest"]?.string.flatMap { AttachmentDigest($0) }
        let length = value["length"]
        byteCount = length?.integer
        byteCountRange = length?.kind == .number ? length?.range : nil
        contentType = value["content_type"]?.string
        hasEncoding = value["encoding"] != nil
        encodedByteCount = value["encoded_length"]?.integer
        range = value.range
        markRange = mark.range
    }
}
