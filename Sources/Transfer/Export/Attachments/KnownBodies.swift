internal import GatewayClient

/// Bodies that are in the folder already, by what a gateway says of them.
///
/// Only of Sync Gateway, which stores attachments under these digests itself. CouchDB's MD5 names no content for sure.
actor KnownBodies {
    private static let limit = 20_000
    private var bodies: [AttachmentDigest: AttachmentBody] = [:]

    func body(of stub: AttachmentStub) -> AttachmentBody? {
        stub.digest.flatMap { bodies[$0] }.flatMap { $0.byteCount == stub.byteCount ? $0 : nil }
    }

    func note(_ stub: AttachmentStub, _ body: AttachmentBody) {
        guard let digest = stub.digest, digest.description.hasPrefix("sha1-") else { return }
        if bodies.count >= Self.limit { bodies = [:] }
        bodies[digest] = body
    }
}
