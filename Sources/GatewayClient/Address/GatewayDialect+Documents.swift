internal import Encodings

// What differs between the servers in documents and databases.
extension GatewayDialect {
    // MARK: - Documents

    /// Bytes of the longest id that it accepts; nil if it has no limit.
    package var longestID: Int? {
        switch self {
        case .syncGateway: 250
        case .couchDB: nil
        }
    }

    /// Whether an id may hold U+0000.
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

    /// Whether it writes floats its own way: what it has may look other than what it was given.
    package var rewritesNumbers: Bool {
        switch self {
        case .syncGateway: false
        case .couchDB: true
        }
    }

    /// Whether `"new_edits":false` stores several leaves of a document. Sync Gateway keeps the first that comes.
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

    /// Whether it accepts an attachment behind its document only with its digest.
    var requiresAttachmentDigests: Bool {
        switch self {
        case .syncGateway: true
        case .couchDB: false
        }
    }

    /// Whether it compresses text when it stores it: the digest is of the compressed bytes then.
    package var compressesAttachments: Bool {
        switch self {
        case .syncGateway: false
        case .couchDB: true
        }
    }

    /// Whether it stores compressed bytes as they are, together with their `encoding`.
    package var keepsAttachmentEncoding: Bool {
        switch self {
        case .syncGateway: true
        case .couchDB: false
        }
    }

    // MARK: - What identifies a database

    /// Whether `GET /` names the server, and not one node of it.
    package var hasServerIdentity: Bool {
        switch self {
        case .syncGateway: false
        case .couchDB: true
        }
    }

    /// Whether `instance_start_time` changes only when the database is made anew. Sync Gateway's also changes after the
    /// database was offline.
    package var keepsInstance: Bool {
        switch self {
        case .syncGateway: false
        case .couchDB: true
        }
    }

    /// Whether `purge_seq` tells that documents were purged.
    package var tellsOfPurges: Bool {
        switch self {
        case .syncGateway: false
        case .couchDB: true
        }
    }
}
