public import GatewayClient
public import Logging
internal import LosslessJSON

/// A database of a gateway, or a collection in it, whose documents are values of Swift types.
///
/// Any number of tasks may use it concurrently. Copies share their connections. Cancelling a call ends its request; a
/// cancelled write may still have been carried out.
///
/// ```swift
/// let keyspace = try Keyspace("http://127.0.0.1:4984/todo", user: "bot", password: "secret")
/// ```
public struct Keyspace: Sendable {
    let gateway: Gateway
    let logger: Logger

    /// Opens no connection before the first request.
    ///
    /// - Parameters:
    ///   - url: `http(s)://HOST:PORT/DATABASE` or `…/DATABASE.SCOPE.COLLECTION`. Its user info is used unless `user` is
    ///     given.
    ///   - user: Nil for anonymous requests, or for the credentials in `settings`.
    ///   - password: The user's password.
    ///   - settings: How to communicate with the gateway. Every setting has a default.
    ///   - logger: Logs interruptions of feeds. Default: no logging.
    /// - Throws: `GatewayURLError` if the text is not a keyspace's address.
    public init(
        _ url: String, user: String? = nil, password: String = "", settings: GatewaySettings = GatewaySettings(),
        logger: Logger = Logger(label: "TypedDocuments") { _ in SwiftLogNoOpLogHandler() }
    ) throws(GatewayURLError) {
        let url = try GatewayURL(url)
        var settings = settings
        if let user {
            settings.credentials = .basic(user: user, password: password)
        } else if let userInfo = url.userInfo {
            settings.credentials = userInfo
        }
        self.init(Gateway(url, settings: settings), logger: logger)
    }

    init(_ gateway: Gateway, logger: Logger) {
        self.gateway = gateway
        self.logger = logger
    }

    /// The keyspace's address; never contains credentials.
    public var url: GatewayURL { gateway.url }

    /// Another keyspace of the same server, over the same connections and as the same user.
    ///
    /// - Parameter name: `DATABASE` or `DATABASE.SCOPE.COLLECTION`, percent-encoded where necessary.
    /// - Throws: `GatewayURLError` if the text is not a keyspace name.
    public func keyspace(_ name: String) throws(GatewayURLError) -> Keyspace {
        Keyspace(gateway.sibling(try KeyspaceName(name)), logger: logger)
    }

    /// Closes all connections, including those of ``keyspace(_:)``. Requests in flight end with `.cancelled`. Call it
    /// on the first keyspace when all work is done.
    public func shutdown() async { await gateway.shutdown() }

    func reading<Document: DocumentCodable>(_ type: Document.Type) -> DocumentReading<Document> {
        DocumentReading(isCollection: gateway.url.keyspace.isNamedCollection)
    }
}

// MARK: - Documents

extension Keyspace {
    /// One document; nil if it is missing or deleted.
    ///
    /// - Throws: ``DocumentDecodingError`` if it does not fit the type. `GatewayError`: `.unauthorized`, `.forbidden` if
    ///   this user may not read it, `.notFound` if there is no such keyspace; others as for every request. A retry makes
    ///   sense if `isRetryable` is true.
    public func document<Document: DocumentCodable>(
        _ id: DocumentID, as type: Document.Type
    ) async throws -> Document? {
        guard let text = try await gateway.document(id) else { return nil }
        return try reading(type).read(text.root, id: id, revision: nil).get()
    }

    /// The bytes of a stored attachment, at most 64 MiB, or of a new one. Nil if the attachment was removed.
    ///
    /// - Parameters:
    ///   - attachment: A property of the document.
    ///   - document: The document of the attachment.
    /// - Throws: `GatewayError`: `.digestMismatch` if the received bytes differ from the stored ones; others as for
    ///   every request.
    public func bytes(
        of attachment: Attachment, in document: some DocumentCodable
    ) async throws(GatewayError) -> [UInt8]? {
        switch attachment.content {
        case .new(let bytes): return bytes
        case .stored(let name, _):
            let digest = attachment.digest.flatMap { AttachmentDigest($0) }
            guard
                var answer = try await gateway.openAttachment(
                    name, of: document.id, revision: document.revision, digest: digest)
            else { return nil }
            var bytes: [UInt8] = []
            while let piece = try await answer.next() {
                bytes += piece
                guard bytes.count <= Self.maxAttachmentSize else {
                    throw GatewayError(.tooLarge, "the attachment '\(name)' of '\(document.id)' is longer than 64 MiB")
                }
            }
            return bytes
        }
    }

    private static let maxAttachmentSize = 64 << 20
}
