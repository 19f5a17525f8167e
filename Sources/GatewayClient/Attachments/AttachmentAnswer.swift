internal import Encodings
internal import HTTPTransport
internal import LosslessJSON

/// The bytes of an attachment, read as they arrive.
///
/// The transfer is paused until more is requested. Dropping it unread closes the connection.
public struct AttachmentAnswer {
    public let contentType: String?
    /// `gzip` if the attachment is stored so: Sync Gateway sends it as it is, whatever was asked for.
    public let contentEncoding: String?
    /// Nil if the gateway does not tell.
    public let byteCount: Int?
    /// What the gateway says of the bytes: the digest of the stub, or the one that the answer names. They are checked
    /// against it, unless they were asked for as they are stored. Nil if there is none, or it can't be theirs.
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
        let isComparable = digest?.algorithm != .md5 || contentEncoding != nil || !Self.isStoredCompressed(contentType)
        self.digest = isAsStored || isComparable ? digest : nil
        check = isAsStored ? nil : self.digest.map { RunningDigest($0.algorithm) }
    }

    /// The next bytes; nil at the end, once they have passed the check.
    ///
    /// - Throws: `.digestMismatch` at the end: what was read is damaged. `.connectionLost` if it is cut short.
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

    /// CouchDB compresses such attachments when it stores them; the digest is that of the compressed bytes then, and not
    /// of those that it sends.
    static func isStoredCompressed(_ type: String?) -> Bool {
        guard let type = type?.lowercased() else { return false }
        return ["text/", "application/json", "application/xml", "application/javascript"].contains {
            type.hasPrefix($0)
        }
    }
}

extension Gateway {
    /// Opens an attachment; nil if the document has none of this name.
    ///
    /// - Parameters:
    ///   - revision: Nil for the winning one.
    ///   - digest: That of the attachment's stub. Nil: the one that the answer names, if it does.
    ///   - isAsStored: Asks CouchDB for the bytes that it keeps, which its digest is made of: packed if the attachment was
    ///     uploaded so, or CouchDB has packed it. ``AttachmentAnswer/contentEncoding`` is `gzip` then. The caller checks
    ///     them: a proxy may have packed or unpacked them on the way.
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
        do throws(GatewayError) {
            return AttachmentAnswer(
                try await open(request), expected: digest, isAsStored: isAsStored, url: url)
        } catch {
            if try await isAbsence(error) { return nil }
            throw error
        }
    }

    /// Writes an attachment: a new revision of its document.
    ///
    /// - Parameters:
    ///   - revision: The current one. Nil makes a new document; both servers refuse it for one that exists.
    ///   - segments: The bytes, sent one behind the other; at most 20 MiB in all on Sync Gateway.
    /// - Throws: `.conflict` if `revision` is not the current one, `.tooLarge`.
    /// - Note: Source: `PUT /{keyspace}/{id}/{attachment}`.
    @discardableResult
    public func putAttachment(
        _ name: String, of id: DocumentID, revision: RevisionID?, contentType: String, segments: [[UInt8]]
    ) async throws(GatewayError) -> RevisionID {
        var request = GatewayRequest(
            method: "PUT", place: place(of: id, attachment: name), body: segments, deadline: settings.deadlines.bulk)
        request.contentType = contentType
        if let revision { request.query = [("rev", revision.text)] }
        guard let written = try await answer(request)["rev"]?.string else {
            throw GatewayError(.malformedAnswer, "\(url): the answer to a PUT names no revision")
        }
        return RevisionID(written)
    }
}
