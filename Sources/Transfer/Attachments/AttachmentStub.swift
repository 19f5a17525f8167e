internal import GatewayClient
internal import LosslessJSON

/// An attachment whose bytes are not in its document: `{"stub":true,"digest":…,"length":…,…}`.
struct AttachmentStub: Sendable {
    let name: String
    let digest: AttachmentDigest?
    let byteCount: Int?
    let contentType: String?
    /// Whether the stub gives the compressed length separately; then ``byteCount`` is not the length that is served.
    let hasEncoding: Bool
    /// Length of the compressed bytes; nil if the stub does not give it.
    let encodedByteCount: Int?
    /// The stub's place in the document's text: the object with its brackets.
    let range: Range<Int>
    /// The place of its member `"stub":true`.
    let markRange: Range<Int>
    /// The place of the number after `"length":`.
    private let byteCountRange: Range<Int>?

    /// How many bytes a gateway serves without decompressing; nil if the stub does not say.
    var storedByteCount: Int? { hasEncoding ? encodedByteCount : byteCount }

    /// The stubs of a document in the order of the text; empty if it has no attachments or they are inline.
    static func all(of document: JSONValue) -> [AttachmentStub] {
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

    /// Appends a part of the document that ends within this stub at the latest.
    ///
    /// If the stub's length is that of compressed bytes (CouchDB, uploaded as gzip), it becomes the length of `body`. A
    /// member `unpacked` says that the digest is of other bytes.
    func append(_ stretch: Range<Int>, of text: [UInt8], with body: AttachmentBody, to output: inout [UInt8]) {
        guard let length = byteCountRange, stretch.contains(length.lowerBound), !hasEncoding,
            byteCount != body.byteCount
        else { return output.appendOnOneLine(text[stretch]) }
        output.appendOnOneLine(text[stretch.lowerBound..<length.lowerBound])
        output.append(contentsOf: "\(body.byteCount),\"unpacked\":true".utf8)
        output.appendOnOneLine(text[length.upperBound..<stretch.upperBound])
    }
}
