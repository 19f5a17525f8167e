internal import LosslessJSON

/// The server from which rules download.
package struct DownloadSource: Sendable, Hashable {
    /// Scheme, host and port, without a slash at the end.
    package let origin: String
    /// A file with a bearer token. Nil if none is sent.
    package let tokenFile: String?
    /// Tokens that are renewed. Nil if none are used.
    package let tokens: RenewedTokens?
    /// A PEM file with the authorities to trust instead of the system's.
    package let caFile: String?

    /// All files that the source names.
    package var files: OutsideFiles {
        var files = OutsideFiles(
            secrets: [tokenFile.map { SecretFile($0, .token) }].compactMap(\.self),
            certificates: [caFile.map { CertificateFile($0, .authorities) }].compactMap(\.self))
        if let tokens { files.add(tokens.files) }
        return files
    }
}

/// Content that a rule takes from a URL.
package struct DownloadRequest: Sendable, Hashable {
    /// Scheme, host and port, without a slash at the end.
    package var origin: String { source.origin }
    /// As in ``DownloadSource``.
    package var tokenFile: String? { source.tokenFile }
    /// As in ``DownloadSource``.
    package var tokens: RenewedTokens? { source.tokens }
    /// As whom the bot asks: a server may return other content to another client. Empty: without a token.
    package var client: String { source.tokenFile ?? source.tokens?.client ?? "" }
    /// As in ``DownloadSource``.
    package var files: OutsideFiles { source.files }
    let source: DownloadSource
    /// Path and query; begins with `/`.
    package let path: String
    /// The maximum number of bytes.
    package let lengthLimit: Int
    /// The media types that are permitted, such as `image/png` or `image/*`.
    package let types: [String]
    /// For the whole exchange.
    package let timeout: Duration
    /// The media type that the attachment must have. Nil for the server's type.
    package var contentType: String?
    /// The document's present attachment of this name. Nil if there is none.
    package var existing: Existing?

    /// An attachment of a document, as its stub describes it.
    package struct Existing: Sendable, Hashable {
        /// `sha1-` or `md5-` and base64.
        package let digest: String
        package let length: Int?
        package let contentType: String
        /// The digest in the member of a blob, `sha1-` and base64. Nil for a plain attachment.
        package var blobDigest: String?
    }

    /// The whole URL. Its query may hold a secret.
    package var url: String { origin + path }
    /// The URL without its query, for messages.
    package var place: String { origin + path.prefix { $0 != "?" } }

    /// Whether content of this media type is permitted; parameters do not matter.
    package func permits(_ contentType: String) -> Bool {
        let type = contentType.prefix { $0 != ";" }.lowercased().filter { $0 != " " }
        return types.contains { permitted in
            permitted == "*/*" || permitted == type
                || permitted.hasSuffix("/*") && type.hasPrefix(permitted.dropLast())
        }
    }
}

/// The result of a download.
package enum DownloadAnswer: Sendable {
    /// - Parameter contentType: As the server sent it.
    case content(AttachmentContent, contentType: String)
    /// The content is that of ``DownloadRequest/existing``, with the required type.
    case unchanged
    /// The document becomes a dead letter.
    case failed(reason: String)
    /// A later attempt may succeed.
    case later(reason: String, wait: Duration)
    /// Downloads are disabled, as in tests and explanations.
    case disabled
}

/// Fetches contents for decisions. Does not throw: a failure is an answer.
package struct Downloader: Sendable {
    /// Takes the ids of the documents that need the content, at least one, and the deadline of the answer.
    let answer:
        @Sendable (DownloadRequest, _ documents: [String], _ deadline: ContinuousClock.Instant) async -> DownloadAnswer
    /// This document has been decided with its answer: the downloader may discard what it fetched for the document.
    let release: @Sendable (_ document: String) async -> Void

    package init(
        answer: @escaping @Sendable (DownloadRequest, [String], ContinuousClock.Instant) async -> DownloadAnswer,
        release: @escaping @Sendable (String) async -> Void = { _ in }
    ) {
        self.answer = answer
        self.release = release
    }
}

/// The download part of a rule file's `attach`.
struct DownloadTemplate: Sendable {
    static let keys = ["url", "path", "max_size", "types", "token_file", "ca_file", "timeout"] + RenewedTokens.keys
    private static let defaultLengthLimit = 5 << 20

    private let target: OutsideTarget
    let source: DownloadSource
    private let lengthLimit: Int
    private let types: [String]
    private let timeout: Duration

    var programs: [Int] { target.programs }

    /// Nil, with errors, if a value is wrong. Sends nothing and reads no file.
    init?(_ object: SourceObject, _ reading: RuleReading) {
        let errors = reading.errors
        let before = errors.errors.count
        let target = OutsideTarget(object, reading, recipient: "the server")
        let folder = RulePath.folder(of: errors.path)
        let tokenFile = object.optionalText("token_file").map { RulePath.join(folder, $0) }
        let tokens = RenewedTokens(object)
        if let key = RenewedTokens.keys.first(where: { object.node($0) != nil }), let node = object.node("token_file") {
            errors.report(at: node.position, "'token_file' and '\(key)' are two ways to log in; remove one")
        }
        let caFile = object.optionalText("ca_file").map { RulePath.join(folder, $0) }
        lengthLimit = object.byteCount("max_size") ?? Self.defaultLengthLimit
        if lengthLimit > Attachment.lengthLimit, let node = object.node("max_size") {
            errors.report(
                at: node.position, "'max_size' is at most 20MB: Sync Gateway accepts no larger attachments; lower it")
        }
        types = Self.types(object)
        timeout = object.exchangeTimeout(usually: .seconds(30))
        if reading.kind == .mapping, let node = object.node("url") {
            errors.report(
                at: node.position, "a mapping can't download; use 'file', or attach it with a rule after the import")
        }
        // Related documents are decided without a downloader, so their attachments would be empty.
        if reading.locals.contains(RelatedEffect.sourceName), let node = object.node("url") {
            errors.report(
                at: node.position, "'related' can't download; use 'file', or write a separate rule for these documents")
        }
        if let node = object.node("folder") {
            errors.report(at: node.position, "'folder' is for 'file' only; remove it, or replace 'url' with file: PATH")
        }
        if caFile != nil, target?.origin.hasPrefix("http://") == true, let node = object.node("ca_file") {
            errors.report(at: node.position, "'ca_file' has no meaning with http://; write https://")
        }
        guard errors.errors.count == before, let target else { return nil }
        self.target = target
        source = DownloadSource(origin: target.origin, tokenFile: tokenFile, tokens: tokens, caFile: caFile)
    }

    /// Default: all images.
    private static func types(_ object: SourceObject) -> [String] {
        guard let node = object.node("types") else { return ["image/*"] }
        let elements: [SourceNode]
        if case .list(let list) = node.content { elements = list } else { elements = [node] }
        let types = elements.compactMap { $0.text?.lowercased() }.filter(isPattern)
        if types.isEmpty || types.count != elements.count {
            object.errors.report(
                at: node.position, "'types' must be a list of media types: types: [image/png, image/*]; correct it")
        }
        return types
    }

    private static func isPattern(_ text: String) -> Bool { ContentType.isValid(text) && !text.contains(";") }

    /// Nil if the program of `path` gives nothing.
    ///
    /// - Parameter outputs: For each of ``programs``, its outputs.
    func request(_ outputs: [[JSONText]]) throws(ActionError) -> DownloadRequest? {
        guard let path = try target.path(outputs, of: "attach") else { return nil }
        return DownloadRequest(
            source: source, path: path, lengthLimit: lengthLimit, types: types, timeout: timeout)
    }
}
