internal import HTTPTransport

extension Gateway {
    /// Opens an attachment with the bytes that the gateway keeps, which its digest is made of: packed if it was uploaded
    /// so, or CouchDB has packed it. ``AttachmentAnswer/contentEncoding`` is `gzip` then. Nil if the document has none of
    /// this name.
    ///
    /// Only for an attachment that ``openAttachment(_:of:revision:digest:)`` has just opened: a session that has ended is
    /// not renewed, and no move is followed.
    ///
    /// - Parameters:
    ///   - revision: Nil for the winning one.
    ///   - digest: That of the attachment's stub. Nil: the one that the answer names, if it does.
    /// - Note: Source: `GET /{keyspace}/{id}/{attachment}` with `Accept-Encoding`; CouchDB 3.5.
    public func openStoredAttachment(
        _ name: String, of id: DocumentID, revision: RevisionID? = nil, digest: AttachmentDigest? = nil
    ) async throws(GatewayError) -> AttachmentAnswer? {
        do throws(GatewayError) {
            let response = try await openStored(attachmentRequest(name, of: id, revision: revision))
            return AttachmentAnswer(response, expected: digest, url: url)
        } catch {
            if try await isAbsence(error) { return nil }
            throw error
        }
    }

    private func openStored(_ request: GatewayRequest) async throws(GatewayError) -> HTTPResponse {
        let authorization = try await authorization()
        var packed = request.httpRequest(to: request.address(at: url), as: authorization)
        packed.headers.append((name: "Accept-Encoding", value: "gzip"))
        let response: HTTPResponse
        do throws(HTTPTransportError) { response = try await http.send(packed) } catch { throw GatewayError(error) }
        noteRenewal(response.headers, of: authorization)
        guard (200..<300).contains(response.status) else {
            throw await GatewayError(
                refusal: response, to: request, of: url, dialect: dialect, withholding: authorization.secrets)
        }
        return response
    }
}
