internal import Encodings

// How the servers differ in documents and databases.
extension GatewayDialect {
    // MARK: - Documents

    /// The length of the longest id that it accepts, in bytes; nil for no limit.
    package var maxIDLength: Int? {
        switch self {
        case .syncGateway: 250
        case .couchDB: nil
        }
    }

    /// Whether an id may contain U+0000.
    package var acceptsNullInIDs: Bool {
        switch self {
        case .syncGateway: false
        case .couchDB: true
        }
    }

    /// Whether it accepts `_design/` documents.
    package var hasDesignDocuments: Bool {
        switch self {
        case .syncGateway: false
        case .couchDB: true
        }
    }

    /// Whether documents may have a time at which they are removed: `_exp`.
    package var expiresDocuments: Bool {
        switch self {
        case .syncGateway: true
        case .couchDB: false
        }
    }

    /// Whether a feed can report documents to which its user lost access.
    ///
    /// - Note: Source: `GET /{keyspace}/_changes?revocations=true` (Sync Gateway 4.1.1, 3.3.7).
    package var reportsRevocations: Bool {
        switch self {
        case .syncGateway: true
        case .couchDB: false
        }
    }

    /// Whether it rewrites floats: a stored number may look different from the one that was sent.
    package var rewritesNumbers: Bool {
        switch self {
        case .syncGateway: false
        case .couchDB: true
        }
    }

    /// Whether `"new_edits":false` stores several leaves of a document. Sync Gateway keeps only the first one.
    package var keepsSeveralLeaves: Bool {
        switch self {
        case .syncGateway: false
        case .couchDB: true
        }
    }

    // MARK: - Attachments

    /// The digest that names an attachment's bytes.
    var attachmentDigest: Digest {
        switch self {
        case .syncGateway: .sha1
        case .couchDB: .md5
        }
    }

    /// Whether an attachment that follows its document in the same request needs a digest.
    var requiresAttachmentDigests: Bool {
        switch self {
        case .syncGateway: true
        case .couchDB: false
        }
    }

    /// Whether it compresses text attachments to store them. The digest is then that of the compressed bytes.
    package var compressesAttachments: Bool {
        switch self {
        case .syncGateway: false
        case .couchDB: true
        }
    }

    /// Whether it stores compressed bytes unchanged, together with their `encoding`.
    package var keepsAttachmentEncoding: Bool {
        switch self {
        case .syncGateway: true
        case .couchDB: false
        }
    }

    // MARK: - What identifies a database

    /// Whether `GET /` identifies the server, not just one of its nodes.
    package var hasServerIdentity: Bool {
        switch self {
        case .syncGateway: false
        case .couchDB: true
        }
    }

    /// Whether `instance_start_time` changes only when the database is recreated. On Sync Gateway it also changes after
    /// the database was offline.
    package var keepsInstance: Bool {
        switch self {
        case .syncGateway: false
        case .couchDB: true
        }
    }

    /// Whether `purge_seq` shows that documents were purged.
    package var reportsPurges: Bool {
        switch self {
        case .syncGateway: false
        case .couchDB: true
        }
    }
}
