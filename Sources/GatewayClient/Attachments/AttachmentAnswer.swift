internal import Encodings
internal import HTTPTransport
internal import LosslessJSON

/// The bytes of an attachment, read as they arrive.
///
/// The transfer is paused until more is requested. Dropping the answer unread closes the connection.
public struct AttachmentAnswer {
    /// The type with which the attachment was stored; nil if the gateway gives none.
    public let contentType: String?
    /// `gzip` if the attachment is stored compressed: Sync Gateway sends it that way, regardless of the request.
    public let contentEncoding: String?
    /// Nil if the gateway does not give the length.
    public let byteCount: Int?
    /// The digest of the stub, or else that of the answer. ``next()`` checks the bytes against it, unless they were
    /// requested as stored. Nil if there is none, or if it can't match the bytes that are sent.
    public let digest: AttachmentDigest?

    private let body: HTTPBody
    private let url: GatewayURL
    private var check: RunningDigest?

    init(_ response: HTTPResponse, expected: AttachmentDigest?, isAsStored: Bool, url: GatewayURL) {
        body = response.body
        self.url = url
        contentType = response.headers["Content-Type"]
        contentEncoding = response.headers["Content-Encoding"]
        byteCount = response.headers["Content-Length"].flatMap(Int.init)
        let digest = expected ?? AttachmentDigest(entityTag: response.headers["ETag"])
        let isComparable =
            digest?.algorithm != .md5 || contentEncoding != nil || !Self.isDecompressed(response.headers, contentType)
        self.digest = isAsStored || isComparable ? digest : nil
        check = isAsStored ? nil : self.digest.map { RunningDigest($0.algorithm) }
    }

    /// Whether CouchDB sends other bytes than it stores, so that its digest does not match them.
    ///
    /// - Note: Source: `Accept-Ranges` is `none` for decompressed attachments (CouchDB 3.5, `chttpd_db.erl`). If a
    ///   proxy removes it, the type decides, assuming default settings.
    private static func isDecompressed(_ headers: HTTPHeaders, _ contentType: String?) -> Bool {
        switch headers["Accept-Ranges"] {
        case "none": true
        case "bytes": false
        default: AttachmentDigest.isCompressedByCouchDB(contentType)
        }
    }

    /// The next bytes; nil at the end, once they have passed the check.
    ///
    /// - Throws: `.digestMismatch` at the end: what was read is damaged. `.connectionLost` if the answer is cut short.
    public mutating func next() async throws(GatewayError) -> [UInt8]? {
        let bytes: [UInt8]?
        do throws(HTTPTransportError) { bytes = try await body.next() } catch { throw GatewayError(error) }
        if let bytes {
            check?.update(bytes)
            return bytes
        }
        guard let check, let digest else { return nil }
        self.check = nil
        guard Base64.text(check.bytes) == digest.base64 else {
            throw GatewayError(.digestMismatch, "\(url): the bytes of an attachment do not match its digest")
        }
        return nil
    }
}

extension Gateway {
    /// Opens an attachment; nil if there is no such document or attachment.
    ///
    /// - Parameters:
    ///   - revision: Nil for the winning revision.
    ///   - digest: The digest of the attachment's stub. Nil: the digest of the answer, if there is one.
    ///   - isAsStored: Whether CouchDB should send the bytes as stored, which its digest matches. They are compressed
    ///     if the attachment was uploaded compressed, or if CouchDB has compressed it;
    ///     ``AttachmentAnswer/contentEncoding`` is then `gzip`. The caller must check them: a proxy may have compressed
    ///     or decompressed them.
    /// - Throws: Errors before the answer begins: `.notFound` if the keyspace does not exist, `.unauthorized`,
    ///   `.forbidden`, `.invalidRequest` if no URL can contain the name, and others as for every request. A retry makes
    ///   sense if ``GatewayError/isRetryable`` is true. ``AttachmentAnswer/next()`` throws later errors.
    /// - Note: Source: `GET /{keyspace}/{id}/{attachment}`; with `Accept-Encoding`, CouchDB 3.5.
    public func openAttachment(
        _ name: String, of id: DocumentID, revision: RevisionID? = nil, digest: AttachmentDigest? = nil,
        isAsStored: Bool = false
    ) async throws(GatewayError) -> AttachmentAnswer? {
        var request = GatewayRequest(
            place: place(of: id, attachment: name), deadline: settings.deadlines.stream,
            silence: settings.deadlines.silence)
        if let revision { request.query = [("rev", revision.text)] }
        if isAsStored { request.acceptEncoding = "gzip" }
        let response = try await nilIfMissing { () async throws(GatewayError) in try await open(request) }
        return response.map { AttachmentAnswer($0, expected: digest, isAsStored: isAsStored, url: url) }
    }

    /// Writes an attachment and returns the new revision of its document.
    ///
    /// - Parameters:
    ///   - revision: The current revision. Nil creates a document; both servers refuse that if it exists.
    ///   - segments: The bytes, sent in order; at most 20 MiB in total on Sync Gateway.
    /// - Throws: `.conflict` if `revision` is not the current one, `.tooLarge`.
    /// - Note: Source: `PUT /{keyspace}/{id}/{attachment}`.
    @discardableResult
    public func putAttachment(
        _ name: String, of id: DocumentID, revision: RevisionID?, contentType: String, segments: [[UInt8]]
    ) async throws(GatewayError) -> RevisionID {
        var request = GatewayRequest(
            method: "PUT", place: place(of: id, attachment: name),
            body: GatewayRequest.Body(content: .segments(segments), type: contentType),
            deadline: settings.deadlines.bulk)
        if let revision { request.query = [("rev", revision.text)] }
        return try await self.revision(writtenBy: request)
    }
}
