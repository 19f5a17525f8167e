extension GatewayError {
    /// What exactly a gateway says, where ``GatewayError/code`` is only its kind: a 404 may be about a document or about
    /// the whole database.
    ///
    /// Recognised in the answers of Sync Gateway 3.3 and 4.1 and of CouchDB 3.5.
    public struct Cause: Hashable, Sendable, CustomStringConvertible {
        enum Name: String, CaseIterable {
            case loginRequired, wrongCredentials, sessionInvalid, accessDenied, unknownDatabaseOrLogin
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
        public var description: String { name.rawValue }

        /// Anonymous requests are refused.
        public static let loginRequired = Cause(name: .loginRequired)
        /// The user is not known, or not with this password.
        public static let wrongCredentials = Cause(name: .wrongCredentials)
        /// The session has expired or was ended.
        public static let sessionInvalid = Cause(name: .sessionInvalid)
        /// The user is known, and not a member of this database (CouchDB).
        public static let accessDenied = Cause(name: .accessDenied)
        /// Sync Gateway keeps to itself which of the two it is: it answers 401 for databases that it has not.
        public static let unknownDatabaseOrLogin = Cause(name: .unknownDatabaseOrLogin)

        /// The document is in no channel of this user's.
        public static let notVisible = Cause(name: .notVisible)
        /// The database's own rules refuse the write: a sync function, a validation function.
        public static let writeRefused = Cause(name: .writeRefused)

        public static let databaseMissing = Cause(name: .databaseMissing)
        /// There is no such collection, or not even its database.
        public static let collectionMissing = Cause(name: .collectionMissing)
        public static let databaseExists = Cause(name: .databaseExists)
        /// Taken offline, or not online yet.
        public static let databaseOffline = Cause(name: .databaseOffline)
        /// A collection is named where only a database is allowed.
        public static let badDatabaseName = Cause(name: .badDatabaseName)

        /// No such document, or no such revision of it.
        public static let documentMissing = Cause(name: .documentMissing)
        public static let documentDeleted = Cause(name: .documentDeleted)
        public static let localDocumentMissing = Cause(name: .localDocumentMissing)
        public static let attachmentMissing = Cause(name: .attachmentMissing)
        /// The write builds on a revision that this user cannot see.
        public static let revisionInaccessible = Cause(name: .revisionInaccessible)

        /// The gateway knows no such request.
        public static let unknownPath = Cause(name: .unknownPath)
        public static let methodNotAllowed = Cause(name: .methodNotAllowed)
        /// It has no answer in the form that was asked for.
        public static let notAcceptable = Cause(name: .notAcceptable)
        public static let unsupportedMediaType = Cause(name: .unsupportedMediaType)
        public static let unsupportedEncoding = Cause(name: .unsupportedEncoding)

        /// No revision was sent, and there is one.
        public static let documentExists = Cause(name: .documentExists)
        /// The revision that was sent is not a current one.
        public static let documentConflict = Cause(name: .documentConflict)
        public static let localDocumentConflict = Cause(name: .localDocumentConflict)
        /// An attachment was written without the revision of its document.
        public static let attachmentConflict = Cause(name: .attachmentConflict)
        /// A stub names an attachment that the parent revision has not (CouchDB).
        public static let missingStub = Cause(name: .missingStub)

        public static let documentTooLarge = Cause(name: .documentTooLarge)
        public static let attachmentTooLarge = Cause(name: .attachmentTooLarge)
        /// 413 of the gateway's, or of a proxy's before it.
        public static let requestTooLarge = Cause(name: .requestTooLarge)

        /// `since` is no sequence of this gateway's.
        public static let badSequence = Cause(name: .badSequence)
        /// A filter or a kind of feed that it does not know, or not together.
        public static let badFeedOption = Cause(name: .badFeedOption)
        public static let badDocumentID = Cause(name: .badDocumentID)
        /// `_rev` or `_revisions` are not of their form.
        public static let badRevision = Cause(name: .badRevision)
        /// `_attachments` and what comes with it do not fit together.
        public static let badAttachment = Cause(name: .badAttachment)
        /// A member whose name begins with "_" and is not one that the gateway knows.
        public static let reservedMember = Cause(name: .reservedMember)
        public static let invalidJSON = Cause(name: .invalidJSON)
        /// A bulk request without `docs`.
        public static let missingDocuments = Cause(name: .missingDocuments)
        /// A user's new password is too short.
        public static let badPassword = Cause(name: .badPassword)
        /// A compressed request that the gateway could not unpack.
        public static let unreadableBody = Cause(name: .unreadableBody)

        /// Sync Gateway's limit of replications is reached.
        public static let tooManyFeeds = Cause(name: .tooManyFeeds)
        /// 407: a proxy before the gateway needs credentials.
        public static let proxyLoginRequired = Cause(name: .proxyLoginRequired)
    }

    /// The keyspace itself is not there, or hides: nothing can be said of a document.
    public var isAboutKeyspace: Bool {
        switch cause?.name {
        case .databaseMissing, .collectionMissing, .unknownDatabaseOrLogin, .databaseOffline: true
        default: false
        }
    }
}

extension GatewayError.Cause {
    /// What a person can do about it; nil where the reason says it all.
    ///
    /// - Parameter authorization: What the request was sent with.
    func remedy(for url: GatewayURL, _ authorization: Authorization = .credentials(nil)) -> String? {
        switch (name, authorization) {
        case (.loginRequired, .credentials(.bearer)), (.wrongCredentials, .credentials(.bearer)):
            "check the token: is it one for this gateway, and has it expired?"
        case (.unknownDatabaseOrLogin, .credentials(nil)):
            "a user name and password are needed, or there is no database '\(url.keyspace.database)'"
        case (.unknownDatabaseOrLogin, .credentials(.bearer)):
            "the token is not valid, or there is no database '\(url.keyspace.database)'"
        default: remedy(for: url)
        }
    }

    private func remedy(for url: GatewayURL) -> String? {
        switch name {
        case .loginRequired: "give a user name and password"
        case .wrongCredentials: "check the user name and password"
        case .sessionInvalid: "log in again"
        case .accessDenied: "make the user a member of the database"
        case .unknownDatabaseOrLogin:
            "the user name or password is wrong, or there is no database '\(url.keyspace.database)'"
        case .notVisible: "give the user access to a channel of the document"
        case .databaseMissing: "check the address: is there a database '\(url.keyspace.database)'?"
        case .collectionMissing: "check the address: is there a collection '\(url.keyspace)'?"
        case .databaseOffline: "wait until the database is online again"
        case .badDatabaseName: "name the database alone"
        case .unknownPath, .methodNotAllowed: "the gateway may be of another version, or a proxy may block this request"
        case .documentExists, .documentConflict, .localDocumentConflict: "read it again and send its current revision"
        case .attachmentConflict: "send the document's current revision"
        case .missingStub: "send the attachment itself, or leave it out"
        case .documentTooLarge, .attachmentTooLarge:
            "keep it below the gateway's limit: 20 MiB on Sync Gateway, max_document_size on CouchDB"
        case .requestTooLarge: "send less at a time"
        case .badSequence: "the sequence belongs to another gateway: start from the beginning"
        case .proxyLoginRequired: "put user name and password into the URL of the proxy"
        case .tooManyFeeds: "raise the gateway's limit of replications"
        default: nil
        }
    }
}
