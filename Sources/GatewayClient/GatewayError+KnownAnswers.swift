/// A known answer of gateways. If all its parts match, its cause applies.
struct KnownAnswer: Sendable {
    /// The subject of the request.
    enum Subject: Sendable {
        case server, database, changes, bulkDocuments, document, localDocument, attachment, other
    }

    let status: Int?
    /// The value of `error`, in lower case; nil for any.
    var name: String?
    /// Must occur in the reason, in lower case; empty for any.
    var part = ""
    /// Nil for any.
    var subject: Subject?
    let cause: GatewayError.Cause

    init(
        _ status: Int?, name: String? = nil, _ part: String = "", of subject: Subject? = nil,
        is cause: GatewayError.Cause
    ) {
        self.status = status
        self.name = name
        self.part = part
        self.subject = subject
        self.cause = cause
    }

    /// The first match applies.
    ///
    /// - Note: Source: answers recorded from Sync Gateway 3.3.7 and 4.1.1 and from CouchDB 3.5.0; `error_info` in
    ///   CouchDB's `chttpd.erl` for `document_too_large`, `attachment_too_large` and `nodedown`; `no_db_file` comes
    ///   from CouchDB 1.
    static let all: [KnownAnswer] = [
        .init(400, name: "illegal_docid", is: .badDocumentID),
        .init(400, "invalid doc id", is: .badDocumentID),
        .init(400, "document id provided in the body", is: .badDocumentID),
        .init(400, name: "doc_validation", "special document member", is: .reservedMember),
        .init(400, "reserved internal property", is: .reservedMember),
        .init(400, "invalid revision id", is: .badRevision),
        .init(400, "invalid version type", is: .badRevision),
        .init(400, "bad _revisions", is: .badRevision),
        .init(400, "stub attachment", is: .badAttachment),
        .init(400, "mime part", is: .badAttachment),
        .init(400, "data of attachment", is: .badAttachment),
        .init(400, "attachment data", is: .badAttachment),
        .init(400, "missing 'docs'", is: .missingDocuments),
        .init(400, "must include `docs`", is: .missingDocuments),
        .init(400, "bad json", is: .invalidJSON),
        .init(400, "invalid json", is: .invalidJSON),
        .init(400, "utf-8 json", is: .invalidJSON),
        .init(400, "must be json", is: .invalidJSON),
        .init(400, "invalid sequence", is: .badSequence),
        .init(400, "malformed sequence", is: .badSequence),
        .init(400, "unknown feed type", is: .badFeedOption),
        .init(400, "unknown filter", is: .badFeedOption),
        .init(400, "filter parameter", is: .badFeedOption),
        .init(400, "filter '_doc_ids'", is: .badFeedOption),
        .init(400, "invalid database name", is: .badDatabaseName),
        .init(400, name: "illegal_database_name", is: .badDatabaseName),
        .init(400, "passwords must", is: .badPassword),

        .init(401, "session invalid", is: .sessionInvalid),
        .init(401, "login required", is: .loginRequired),
        .init(401, "not authorized to access", is: .accessDenied),
        .init(401, is: .wrongCredentials),

        .init(403, "account is temporarily locked", is: .accountLocked),
        .init(403, "creating a db", is: .databaseMissing),
        .init(403, name: "forbidden", "forbidden", is: .notVisible),
        .init(403, "not allowed to access", is: .accessDenied),
        .init(403, of: .document, is: .writeRefused),
        .init(403, of: .bulkDocuments, is: .writeRefused),
        .init(403, of: .attachment, is: .writeRefused),

        .init(404, "no_db_file", is: .databaseMissing),
        .init(404, "database does not exist", is: .databaseMissing),
        .init(404, "no such database", is: .databaseMissing),
        .init(404, "unknown url", is: .unknownPath),
        .init(404, "not accessible", is: .revisionInaccessible),
        .init(404, "missing attachment", is: .attachmentMissing),
        .init(404, "deleted", is: .documentDeleted),
        .init(404, "missing", of: .localDocument, is: .localDocumentMissing),
        .init(404, "missing", of: .attachment, is: .attachmentMissing),
        .init(404, "missing", is: .documentMissing),

        .init(405, is: .methodNotAllowed),
        .init(406, is: .notAcceptable),

        .init(407, is: .proxyLoginRequired),

        .init(409, "modify attachments", is: .attachmentConflict),
        .init(409, of: .localDocument, is: .localDocumentConflict),
        .init(409, "document exists", is: .documentExists),
        .init(409, is: .documentConflict),

        .init(412, name: "nodedown", is: .databaseOffline),
        .init(412, name: "missing_stub", is: .missingStub),
        .init(412, name: "file_exists", is: .databaseExists),
        .init(412, "database already exists", is: .databaseExists),

        .init(413, name: "attachment_too_large", is: .attachmentTooLarge),
        .init(413, name: "document_too_large", is: .documentTooLarge),
        .init(413, "attachment too large", is: .attachmentTooLarge),
        .init(413, "document too large", is: .documentTooLarge),
        .init(413, is: .requestTooLarge),

        .init(415, "content-encoding", is: .unsupportedEncoding),
        .init(415, is: .unsupportedMediaType),

        // Only the text of these 500s shows what is wrong.
        .init(500, "strconv.parse", of: .changes, is: .badSequence),
        .init(500, "unexpected eof", is: .unreadableBody),
        .init(500, "illegal base64", is: .badAttachment),

        .init(503, "maintenance", is: .databaseOffline),
        .init(503, "offline", is: .databaseOffline),
        .init(503, "replication limit", is: .tooManyFeeds),
    ]
}

extension GatewayError.Cause {
    /// Nil for an unknown answer.
    ///
    /// - Parameter isChallenge: Whether the answer came with `WWW-Authenticate`. Sync Gateway omits it if the database
    ///   does not exist; CouchDB always sends it.
    init?(
        status: Int, name: String, reason: String, of subject: KnownAnswer.Subject, isChallenge: Bool,
        dialect: GatewayDialect
    ) {
        let (name, reason) = (name.lowercased(), reason.lowercased())
        if status == 404, reason.hasPrefix("keyspace "), reason.hasSuffix(" not found") {
            self = reason.contains(".") ? .collectionMissing : .databaseMissing
            return
        }
        let known = KnownAnswer.all.first { known in
            (known.status ?? status) == status && (known.name ?? name) == name
                && (known.part.isEmpty || reason.range(of: known.part) != nil)
                && (known.subject.map { $0 == subject } ?? true)
        }
        guard let known else { return nil }
        let hidesDatabase = dialect.hidesUnknownDatabases && !isChallenge
        let isLogin = known.cause == .loginRequired || known.cause == .wrongCredentials
        self = isLogin && hidesDatabase ? .unknownDatabaseOrLogin : known.cause
    }
}
