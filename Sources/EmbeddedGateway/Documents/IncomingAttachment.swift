internal import Encodings
internal import LosslessJSON

/// One entry of a document's `_attachments`, as a client sent it.
struct IncomingAttachment: Sendable {
    enum Content: Sendable {
        /// Decoded from `data`, or from a part of a multipart body.
        case bytes([UInt8], digest: String)
        /// `"stub":true`. `entry` is stored if the parent lacks the name.
        case stub(entry: [UInt8], hasDigest: Bool)
    }

    let name: String
    let content: Content
    let contentType: String?
    /// `gzip` if the bytes are compressed.
    let encoding: String?

    /// The maximum number of bytes of one attachment, decoded.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1 accepts 20 MiB and answers 413 for one byte more.
    static let limit = 20 << 20

    init(name: String, bytes: [UInt8], contentType: String?) throws(RequestError) {
        guard bytes.count <= Self.limit else { throw .attachmentTooLarge }
        self.name = name
        self.contentType = contentType
        encoding = nil
        content = .bytes(bytes, digest: Digest.sha1.attachmentName(bytes))
    }

    /// A stub that keeps the parent's attachment.
    init(keeping name: String) {
        self.name = name
        contentType = nil
        encoding = nil
        content = .stub(entry: Array(#"{"stub":true}"#.utf8), hasDigest: false)
    }

    private init(name: String, entry: JSONValue, following: [UInt8]?) throws(RequestError) {
        self.name = name
        contentType = entry["content_type"]?.string
        encoding = entry["encoding"]?.string
        let inline = following == nil ? try Self.data(entry) : nil
        if let bytes = following ?? inline {
            guard bytes.count <= Self.limit else { throw .attachmentTooLarge }
            content = .bytes(bytes, digest: Digest.sha1.attachmentName(bytes))
        } else if entry["stub"]?.bool == true {
            content = .stub(entry: CanonicalJSON.text(entry), hasDigest: entry["digest"]?.string != nil)
        } else {
            throw RequestError(400, "Missing data of attachment \"\(name)\"")
        }
    }

    /// The attachments of a document, sorted by name. Empty if `value` is not an object, as in the real gateway.
    ///
    /// Names are compared as bytes: 'é' has two spellings, and a document may have both.
    ///
    /// - Parameter following: The contents from separate parts of a multipart body, by name in UTF-8.
    static func read(
        _ value: JSONValue?, following: [[UInt8]: [UInt8]]
    ) throws(RequestError) -> [IncomingAttachment] {
        guard let value else { return [] }
        var entries: [[UInt8]: IncomingAttachment] = [:]
        for member in value.members {
            guard let name = member.name.string else { continue }
            let key = Array(name.utf8)
            entries[key] = try IncomingAttachment(name: name, entry: member.value, following: following[key])
        }
        return entries.values.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    private static func data(_ entry: JSONValue) throws(RequestError) -> [UInt8]? {
        guard let data = entry["data"], data.kind != .null else { return nil }
        guard data.kind == .string else {
            throw RequestError(400, "invalid attachment data (type \(goType(of: data)))")
        }
        do throws(Base64Error) {
            if data.isEscaped { return try Base64.decode(data.utf8 ?? []) }
            return try data.withRawContent(Base64.decode)
        } catch {
            throw RequestError(500, "Internal error: illegal base64 data at input byte \(error.offset)")
        }
    }

    /// The Go type that the real gateway mentions in its reason.
    private static func goType(of value: JSONValue) -> String {
        switch value.kind {
        case .number: "json.Number"
        case .true, .false: "bool"
        case .array: "[]interface {}"
        default: "map[string]interface {}"
        }
    }
}
