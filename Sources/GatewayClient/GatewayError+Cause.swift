extension GatewayError {
    /// The exact cause that the gateway reports. ``GatewayError/code`` is only the kind: a 404 may concern a document
    /// or the whole database.
    ///
    /// Recognized in the answers of Sync Gateway 3.3 and 4.1 and of CouchDB 3.5.
    public struct Cause: Hashable, Sendable, CustomStringConvertible {
        enum Name: String, CaseIterable {
            case loginRequired, wrongCredentials, sessionInvalid, accessDenied, unknownDatabaseOrLogin, accountLocked
            case notVisible, writeRefused
            case databaseMissing, collectionMissing, databaseExists, databaseOffline, badDatabaseName
            case documentMissing, documentDeleted, localDocumentMissing, attachmentMissing, revisionInaccessible
            case unknownPath, methodNotAllowed, notAcceptable, unsupportedMediaType, unsupportedEncoding
            case documentExists, documentConflict, localDocumentConflict, attachmentConflict, missingStub
            case documentTooLarge, attachmentTooLarge, requestTooLarge
            case badSequence, badFeedOption, badDocumentID, badRevision, badAttachment, reservedMember
            case invalidJSON, missingDocuments, badPassword, unreadableBody
            case tooManyFeeds, proxyLoginRequired
        }

        let name: Name
        /// The name of the static member, such as `documentMissing`.
        public var description: String { name.rawValue }

        /// Anonymous requests are refused.
        public static let loginRequired = Cause(name: .loginRequired)
        /// Unknown user or wrong password.
        public static let wrongCredentials = Cause(name: .wrongCredentials)
        /// CouchDB 3.4 and later refuses all logins with this user name for five minutes, after five refused logins
        /// from the same address.
        public static let accountLocked = Cause(name: .accountLocked)
        /// The session has expired or was ended.
        public static let sessionInvalid = Cause(name: .sessionInvalid)
        /// The user exists but is not a member of this database (CouchDB).
        public static let accessDenied = Cause(name: .accessDenied)
        /// Sync Gateway does not distinguish the two: it also answers 401 if the database does not exist.
        public static let unknownDatabaseOrLogin = Cause(name: .unknownDatabaseOrLogin)

        /// The document is in none of this user's channels.
        public static let notVisible = Cause(name: .notVisible)
        /// The database itself refuses the write: its sync function or its validation function.
        public static let writeRefused = Cause(name: .writeRefused)

        /// 404. Sync Gateway may hide this behind a 401: ``unknownDatabaseOrLogin``.
        public static let databaseMissing = Cause(name: .databaseMissing)
        /// No such collection; its database may be missing too.
        public static let collectionMissing = Cause(name: .collectionMissing)
        /// 412: a database of this name can't be created again.
        public static let databaseExists = Cause(name: .databaseExists)
        /// Taken offline, or not online yet.
        public static let databaseOffline = Cause(name: .databaseOffline)
        /// A collection is named where only a database is allowed.
        public static let badDatabaseName = Cause(name: .badDatabaseName)

        /// No such document, or no such revision of it.
        public static let documentMissing = Cause(name: .documentMissing)
        /// 404: the winning revision is a tombstone.
        public static let documentDeleted = Cause(name: .documentDeleted)
        /// 404 for `_local`: never written, or dropped (by Sync Gateway after 90 days without a write).
        public static let localDocumentMissing = Cause(name: .localDocumentMissing)
        /// 404 for an attachment: the document has none of this name, or is missing itself.
        public static let attachmentMissing = Cause(name: .attachmentMissing)
        /// The write builds on a revision that this user cannot see.
        public static let revisionInaccessible = Cause(name: .revisionInaccessible)

        /// The gateway does not know this path.
        public static let unknownPath = Cause(name: .unknownPath)
        /// 405: the gateway knows the path, but not with this method.
        public static let methodNotAllowed = Cause(name: .methodNotAllowed)
        /// 406: the gateway can't answer in the form that `Accept` names.
        public static let notAcceptable = Cause(name: .notAcceptable)
        /// 415 because of `Content-Type`.
        public static let unsupportedMediaType = Cause(name: .unsupportedMediaType)
        /// 415 because of `Content-Encoding`: the gateway does not accept compressed requests.
        public static let unsupportedEncoding = Cause(name: .unsupportedEncoding)

        /// No revision was sent, but the document exists.
        public static let documentExists = Cause(name: .documentExists)
        /// The revision that was sent is not a current one.
        public static let documentConflict = Cause(name: .documentConflict)
        /// 409 for `_local`: the revision that was sent is not the current one.
        public static let localDocumentConflict = Cause(name: .localDocumentConflict)
        /// An attachment was written without the revision of its document.
        public static let attachmentConflict = Cause(name: .attachmentConflict)
        /// A stub names an attachment that the parent revision does not have (CouchDB).
        public static let missingStub = Cause(name: .missingStub)

        /// 413: above 20 MiB on Sync Gateway, above `max_document_size` on CouchDB.
        public static let documentTooLarge = Cause(name: .documentTooLarge)
        /// 413: above 20 MiB on Sync Gateway, above `max_attachment_size` on CouchDB.
        public static let attachmentTooLarge = Cause(name: .attachmentTooLarge)
        /// 413 from the gateway, or from a proxy in front of it.
        public static let requestTooLarge = Cause(name: .requestTooLarge)

        /// `since` is not a sequence of this gateway.
        public static let badSequence = Cause(name: .badSequence)
        /// An unknown filter or feed type, or two that can't be combined.
        public static let badFeedOption = Cause(name: .badFeedOption)
        /// 400: the gateway does not accept this id, in the path or in the body.
        public static let badDocumentID = Cause(name: .badDocumentID)
        /// `_rev` or `_revisions` is malformed.
        public static let badRevision = Cause(name: .badRevision)
        /// `_attachments` does not match the data that was sent with it.
        public static let badAttachment = Cause(name: .badAttachment)
        /// A member whose name begins with "_" and that the gateway does not know.
        public static let reservedMember = Cause(name: .reservedMember)
        /// 400: the body is not JSON, or is not UTF-8.
        public static let invalidJSON = Cause(name: .invalidJSON)
        /// A bulk request without `docs`.
        public static let missingDocuments = Cause(name: .missingDocuments)
        /// A user's new password is too short.
        public static let badPassword = Cause(name: .badPassword)
        /// The gateway could not decompress a compressed request.
        public static let unreadableBody = Cause(name: .unreadableBody)

        /// Sync Gateway's limit on concurrent replications is reached.
        public static let tooManyFeeds = Cause(name: .tooManyFeeds)
        /// 407: a proxy in front of the gateway requires credentials.
        public static let proxyLoginRequired = Cause(name: .proxyLoginRequired)
    }

    /// Whether the keyspace itself is missing, offline or hidden. The answer then does not concern a document.
    public var isAboutKeyspace: Bool {
        switch cause?.name {
        case .databaseMissing, .collectionMissing, .unknownDatabaseOrLogin, .databaseOffline: true
        default: false
        }
    }

    /// Whether any other request of this user would get the same answer: it is about the keyspace, or the account is
    /// locked.
    public var concernsAllDocuments: Bool { isAboutKeyspace || cause == .accountLocked }
}

extension GatewayError.Cause {
    /// The remedy; nil if the reason is enough.
    ///
    /// - Parameter authorization: The request's authorization.
    func remedy(for url: GatewayURL, _ authorization: Authorization) -> String? {
        switch (name, authorization) {
        case (.loginRequired, .credentials(.bearer)), (.wrongCredentials, .credentials(.bearer)),
            (.loginRequired, .token), (.wrongCredentials, .token):
            "check the token: is it for this gateway, and has it expired?"
        // CouchDB says the same to anonymous requests as to users who are not members.
        case (.accessDenied, .credentials(nil)), (.wrongCredentials, .credentials(nil)):
            "give a user name and password"
        case (.unknownDatabaseOrLogin, .credentials(nil)):
            "a user name and password are needed, or there is no database '\(url.keyspace.database)'"
        case (.unknownDatabaseOrLogin, .credentials(.bearer)), (.unknownDatabaseOrLogin, .token):
            "the token is not valid, or there is no database '\(url.keyspace.database)'"
        default: remedy(for: url)
        }
    }

    /// The remedy for a request with a user name and password, also those of a session's login.
    func remedy(for url: GatewayURL) -> String? {
        switch name {
        case .loginRequired: "give a user name and password"
        case .wrongCredentials: "check the user name and password"
        case .accountLocked:
            "it is unlocked five minutes after the refused logins; find the client that logs in with a wrong password"
        case .sessionInvalid: "log in again"
        case .accessDenied: "make the user a member of the database"
        case .unknownDatabaseOrLogin:
            "the user name or password is wrong, or there is no database '\(url.keyspace.database)'"
        case .notVisible: "give the user access to a channel of the document"
        case .databaseMissing: "check the address: is there a database '\(url.keyspace.database)'?"
        case .collectionMissing: "check the address: is there a collection '\(url.keyspace)'?"
        case .databaseOffline: "wait until the database is online again"
        case .badDatabaseName: "name only the database"
        case .unknownPath, .methodNotAllowed: "the gateway may run another version, or a proxy may block this request"
        case .documentExists, .documentConflict, .localDocumentConflict: "read it again and send its current revision"
        case .attachmentConflict: "send the document's current revision"
        case .missingStub: "send the attachment itself, or leave it out"
        case .documentTooLarge, .attachmentTooLarge:
            "keep it below the gateway's limit: 20 MiB on Sync Gateway, max_document_size on CouchDB"
        case .requestTooLarge:
            "send less at a time, or raise the limit: max_http_request_size on CouchDB, or the proxy's limit"
        case .badSequence: "the sequence belongs to another gateway: start from the beginning"
        case .proxyLoginRequired: "put the user name and password into the proxy's URL"
        case .tooManyFeeds: "raise the gateway's limit on concurrent replications"
        default: nil
        }
    }
}
