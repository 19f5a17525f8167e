internal import GatewayClient
internal import LosslessJSON

/// An attachment of a document whose bytes are elsewhere: `{"stub":true,"digest":…,"length":…,…}`.
struct AttachmentStub: Sendable {
    let name: String
    let digest: AttachmentDigest?
    let byteCount: Int?
    let contentType: String?
    /// Whether it is told apart how long the packed bytes are: then ``byteCount`` is not of those that are handed out.
    let hasEncoding: Bool
    /// Length of the packed bytes, where that is told.
    let encodedByteCount: Int?
    /// Where the stub stands in the document's text: the object with its brackets.
    let range: Range<Int>
    /// Its member `"stub":true`.
    let markRange: Range<Int>
    /// The number behind `"length":`.
    private let byteCountRange: Range<Int>?

    /// How many bytes a gateway hands out that unpacks nothing; nil if that is not told.
    var storedByteCount: Int? { hasEncoding ? encodedByteCount : byteCount }

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
        let length = value["length"]
        byteCount = length?.integer
        byteCountRange = length?.kind == .number ? length?.range : nil
        contentType = value["content_type"]?.string
        hasEncoding = value["encoding"] != nil
        encodedByteCount = value["encoded_length"]?.integer
        range = value.range
        markRange = mark.range
    }

    /// Appends a stretch of the document that reaches no further than this stub. Where the gateway tells how long the
    /// packed bytes are, as CouchDB does of what was uploaded as gzip, the length becomes that of `body`, and `unpacked`
    /// tells that the digest is of other bytes.
    func append(_ stretch: Range<Int>, of text: [UInt8], with body: AttachmentBody, to output: inout [UInt8]) {
        guard let length = byteCountRange, stretch.contains(length.lowerBound), !hasEncoding,
            byteCount != body.byteCount
        else { return output.appendOnOneLine(text[stretch]) }
        output.appendOnOneLine(text[stretch.lowerBound..<length.lowerBound])
        output.append(contentsOf: "\(body.byteCount),\"unpacked\":true".utf8)
        output.appendOnOneLine(text[length.upperBound..<stretch.upperBound])
    }
}
