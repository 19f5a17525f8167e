internal import Encodings
public import FoundationEssentials
internal import LosslessJSON
internal import Rules

/// An attachment of a document: a stored one, or bytes to be stored with the next save.
///
/// The property's name is the attachment's name. Set the property to another attachment to replace it, or to nil to
/// remove it. A Couchbase Lite blob is also an attachment, at any depth. ``Keyspace/bytes(of:in:)`` reads a stored one.
///
/// A file that imports Swift Testing, which has a type of the same name, must write `TypedDocuments.Attachment`.
public struct Attachment: Hashable, Sendable {
    enum Content: Hashable, Sendable {
        /// - Parameter blob: The Couchbase Lite JSON object that represents it.
        case stored(name: String, blob: [UInt8]?)
        case new([UInt8])
    }

    /// As stored: `image/png`.
    public let contentType: String
    /// The number of bytes; nil if the document does not say.
    public let byteCount: Int?
    /// The gateway's digest: `sha1-…` or `md5-…`; nil for a new attachment.
    public let digest: String?
    let content: Content

    /// An attachment to be stored.
    public init(_ bytes: [UInt8], contentType: String) {
        self.init(.new(bytes), contentType, byteCount: bytes.count, digest: nil)
    }

    /// An attachment to be stored.
    public init(_ data: Data, contentType: String) { self.init(Array(data), contentType: contentType) }

    private init(_ content: Content, _ contentType: String, byteCount: Int?, digest: String?) {
        self.content = content
        self.contentType = contentType
        self.byteCount = byteCount
        self.digest = digest
    }

    /// Creates an attachment from a stub or from a Couchbase Lite blob.
    private init(name: String, _ description: JSONValue, blob: [UInt8]? = nil) {
        self.init(
            .stored(name: name, blob: blob), description["content_type"]?.string ?? "application/octet-stream",
            byteCount: description["length"]?.integer, digest: description["digest"]?.string)
    }
}

// MARK: - As part of a document

extension Attachment: DocumentPart {
    package static func read(at place: DocumentPlace) throws -> Attachment? {
        let stubs = place.document?["_attachments"]
        if let blob = place.value, blob.isBlob {
            let usual = place.blobName
            let digest = blob["digest"]?.string ?? ""
            let same = stubs?.members.first { $0.value["digest"]?.isString(digest) == true }
            let name = stubs?[usual] == nil ? same?.name.string ?? usual : usual
            return Attachment(name: name, blob, blob: Array(blob.bytes))
        }
        guard place.path.count == 1, let name = place.path.first?.stringValue, let stub = stubs?[name],
            stub.kind == .object
        else { return nil }
        return Attachment(name: name, stub)
    }

    package func json(at place: DocumentPlace) throws -> [UInt8]? {
        switch content {
        case .stored(let name, let blob):
            // A blob need not have a stub. A property's attachment has the property's name.
            let isKnown =
                blob == nil
                ? place.path.count == 1 && place.path[0].stringValue == name
                    && place.document?["_attachments"]?[name] != nil
                : place.document != nil
            guard isKnown else { throw stored(elsewhere: name, place) }
            return blob
        case .new(let bytes):
            guard place.path.count > 1 || place.value?.isBlob == true else { return nil }
            var writer = JSONWriter()
            writer.object { writer in
                writer.member("@type", string: "blob")
                writer.member("content_type", string: contentType)
                writer.member("digest", string: Digest.sha1.attachmentName(bytes))
                writer.member("length", integer: bytes.count)
            }
            return writer.bytes
        }
    }

    private func stored(elsewhere name: String, _ place: DocumentPlace) -> EncodingError {
        let message = "the attachment '\(name)' is stored elsewhere; read its bytes, and create a new one from them"
        return .invalidValue(self, .init(codingPath: place.path, debugDescription: "\(place.path.text): \(message)"))
    }

    /// The name under which it is stored, or will be.
    func name(at place: DocumentPlace) throws -> String {
        if case .stored(let name, _) = content { return name }
        guard try json(at: place) != nil else { return place.path.last?.stringValue ?? "" }
        if let known = try Attachment.read(at: place), case .stored(let name, _) = known.content { return name }
        return place.blobName
    }
}

extension DocumentPlace {
    fileprivate var blobName: String {
        BlobPlace(JSONPointer(tokens: path.map(\.stringValue))).attachmentName
    }
}

extension JSONValue {
    fileprivate var isBlob: Bool { self["@type"]?.isString("blob") == true }
}

extension Attachment: Codable {
    private enum CodingKeys: String, CodingKey {
        case contentType = "content_type"
        case data
    }

    /// Decodes the output of another coder: an attachment to be stored.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            try container.decode(Data.self, forKey: .data),
            contentType: try container.decode(String.self, forKey: .contentType))
    }

    /// Encodes for other coders, such as `JSONEncoder`: the type, and the bytes of a new attachment.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(contentType, forKey: .contentType)
        if case .new(let bytes) = content { try container.encode(Data(bytes), forKey: .data) }
    }
}
