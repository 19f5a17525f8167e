/// The known differences between kinds of servers, each with its reason. The usual behaviour is that recorded from Sync
/// Gateway 4.1.1.
enum KnownDifferences {}

// MARK: - The database

extension KnownDifferences {
    static let vendor = Expected(
        "Couchbase Sync Gateway",
        .init(.couchDB, does: "The Apache Software Foundation", because: "it is another product"))

    static let serverHeader = Expected(
        "Couchbase Sync Gateway/", .init(.couchDB, does: "CouchDB/", because: "it is another product"))

    /// `update_seq` and `instance_start_time`.
    static let sequenceOfDatabaseIsNumber = Expected(
        true, .init(.couchDB, does: false, because: "sequences are opaque strings, and times are strings too"))

    static let databaseState = Expected<String?>(
        "Online", .init(.couchDB, does: nil, because: "a database can't be taken offline"))

    static let countsDocuments = Expected(
        false, .init(.couchDB, does: true, because: "Sync Gateway does not know how many documents it has"))

    /// `GET /DB`, without the slash.
    static let databaseWithoutSlash = Expected(
        Outcome.done(301), .init(.couchDB, does: .done(200), because: "the slash is not part of the path"))

    static let unknownDatabase = Expected(
        Outcome.refused(401, "Unauthorized"),
        .init(
            .couchDB, does: .refused(404, "not_found", "Database does not exist."),
            because: "Sync Gateway does not tell strangers which databases there are"))

    static let existingDatabase = Expected<Outcome>(
        .refused(412, "Precondition Failed", "Database already exists"),
        .init(
            .couchDB,
            does: .refused(412, "file_exists", "The database could not be created, the file already exists."),
            because: "other words for the same"))

    static let invalidLogin = Expected<Outcome>(
        .refused(401, "Unauthorized", "Invalid login"),
        .init(
            .couchDB, does: .refused(401, "unauthorized", "Name or password is incorrect."),
            because: "other words for the same"))

    /// Where sessions are created: below the database, or at the server.
    static let sessionIsOfDatabase = Expected(
        true, .init(.couchDB, does: false, because: "users are those of the server"))

    static let sessionCookie = Expected(
        "SyncGatewaySession=", .init(.couchDB, does: "AuthSession=", because: "the name is the product's own"))
}

// MARK: - Documents

extension KnownDifferences {
    /// `cv` in answers to writes, `_cv` in documents.
    static let hasVersionVectors = Expected(
        true,
        .init(.syncGateway3, .couchDB, does: false, because: "version vectors came with Sync Gateway 4"))

    /// Whether a document is returned with its members sorted by name.
    static let sortsMembers = Expected(
        true, .init(.embedded, .couchDB, does: false, because: "documents are kept as they were written"))

    static let postedDocument = Expected(
        200, .init(.couchDB, does: 201, because: "Sync Gateway says 200 to POST of a document, and always has"))

    /// An update or a deletion that names no revision.
    static let noRevision = Expected<Outcome?>(
        .refused(409, "conflict", "Document exists"), .init(.couchDB, does: conflict, because: sameWords))

    static let staleRevision = Expected<Outcome?>(
        .refused(409, "conflict", "Document revision conflict"), .init(.couchDB, does: conflict, because: sameWords))

    private static let conflict = Outcome.refused(409, "conflict", "Document update conflict.")
    private static let sameWords = "CouchDB has the same words for all conflicts"

    static let malformedRevision = Expected<Outcome?>(
        .refused(400, "Bad Request", #"Invalid version type for OCC value: "xyz""#),
        .init(
            .syncGateway3, does: .refused(400, "Bad Request", "Invalid revision ID"),
            because: "a revision was all that could be named before version vectors"),
        .init(.couchDB, does: .refused(400, "bad_request", "Invalid rev format"), because: "other words for the same"))

    static let deletingMissingDocument = Expected<Outcome?>(
        .refused(409, "conflict", "Document revision conflict"),
        .init(.couchDB, does: .refused(404, "not_found", "missing"), because: "CouchDB looks for the document first"))

    static let badJSON = Expected<Outcome?>(
        .refused(400, "Bad Request"),
        .init(
            .couchDB, does: .refused(400, "bad_request", "invalid UTF-8 JSON"),
            because: "the reason is that of the JSON parser"))

    static let documentIsArray = Expected<Outcome?>(
        .refused(400, "Bad Request"),
        .init(
            .couchDB, does: .refused(400, "bad_request", "Document must be a JSON object"),
            because: "the reason is that of the JSON parser"))

    static let documentAsText = Expected<Outcome?>(
        .refused(415, "Unsupported Media Type", "Invalid content type text/plain"),
        .init(.couchDB, does: .done(201), because: "it looks at the type of POST, not of PUT"))

    static let otherIDInBody = Expected<Outcome?>(
        .refused(
            400, "Bad Request", "The document ID provided in the body does not match the document ID in the path"),
        .init(.couchDB, does: .done(201), because: "the id in the path counts, the other one is passed over"))

    static let unknownReservedMember = Expected<Outcome?>(
        .done(201),
        .init(
            .couchDB, does: .refused(400, "doc_validation", "Bad special document member: _foo"),
            because: "it keeps all names with an underscore for itself"))

    static let internalMember = Expected<Outcome?>(
        .refused(400, "Bad Request", "document-top level property '_sync' is a reserved internal property"),
        .init(
            .couchDB, does: .refused(400, "doc_validation", "Bad special document member: _sync"),
            because: "it keeps all names with an underscore for itself"))

    static let reservedID = Expected<Outcome?>(
        .refused(404, "not_found", "unknown URL"),
        .init(
            .couchDB,
            does: .refused(400, "illegal_docid", "Only reserved document ids may start with underscore."),
            because: "it takes the name for an id, where Sync Gateway takes it for a page"))

    static let unknownPage = Expected<Outcome?>(
        .refused(404, "not_found", "unknown URL"),
        .init(
            .couchDB, does: .refused(404, "not_found", "missing"),
            because: "it takes the name for an id, where Sync Gateway takes it for a page"))

    static let wrongMethod = Expected<Outcome?>(
        .refused(405, "Method Not Allowed", ""),
        .init(.couchDB, does: .refused(405, "method_not_allowed"), because: "other words for the same"))

    static let allowedMethods = Expected(
        "GET, HEAD, POST", .init(.couchDB, does: "GET,POST,HEAD", because: "other words for the same"))

    static let longID = Expected<Outcome?>(
        .refused(400, "Bad Request", "Invalid doc ID"),
        .init(.couchDB, does: .done(201), because: "ids are keys of a Couchbase bucket in Sync Gateway: 250 bytes"))

    static let wantsNoJSON = Expected<Outcome?>(
        .refused(406, "Not Acceptable", "only application/json available"),
        .init(.couchDB, does: .done(200), because: "it sends JSON all the same"))

    /// `If-None-Match` with the current revision.
    static let unchangedDocument = Expected<Outcome?>(
        .done(200), .init(.couchDB, does: .done(304), because: "Sync Gateway does not heed If-None-Match"))

    static let hugeDocument = Expected<Outcome?>(
        .refused(413, "Request Entity Too Large", "Document too large!"),
        .init(.couchDB, does: .refused(413, "document_too_large"), because: "the reason is the document's id"))

    /// Whether a path can contain an id with "%".
    static let percentSignInPath = Expected(
        false,
        .init(
            .couchDB, does: true,
            because: "Sync Gateway decodes the path twice unless the id has a slash too: \"%\" must be escaped twice"))

    /// The returned notation of `1.10`, `1e5` and a 23-digit integer.
    static let numbers = Expected(
        ["1.10", "1e5", "12345678901234567890123"],
        .init(
            .couchDB, does: ["1.1", "100000.0", "12345678901234567890123"],
            because: "Erlang keeps floats as floats, and writes them its own way"))

    /// The returned form of `{"dup":1,"dup":2}`.
    static let duplicateMember = Expected<String?>(
        "2", .init(.couchDB, does: nil, because: "not recorded"))
}

// MARK: - Bulk writes and reads

extension KnownDifferences {
    /// `"ok":true` in rows of successful writes.
    static let rowsHaveOK = Expected(
        false, .init(.couchDB, does: true, because: "Sync Gateway's rows of successes are those without an error"))

    /// The rows for a write without a revision, and for one with a stale revision.
    static let rowsOfConflicts = Expected(
        [
            Outcome.refused(409, "conflict", "Document exists"),
            .refused(409, "conflict", "Document revision conflict"),
        ],
        .init(
            .couchDB,
            does: [
                .refused(0, "conflict", "Document update conflict."),
                .refused(0, "conflict", "Document update conflict."),
            ], because: "rows have no status, and the same words for all conflicts"))

    private static let allOrNone = "it refuses all documents for one that is no document"

    static let bulkReservedID = Expected(
        [Outcome.done(201), .done(201), .refused(400, "bad_request", "Invalid doc ID")],
        .init(
            .couchDB,
            does: [.refused(400, "illegal_docid", "Only reserved document ids may start with underscore.")],
            because: allOrNone))

    static let bulkEmptyID = Expected(
        [Outcome.done(201), .done(201), .refused(400, "bad_request", "Invalid doc ID")],
        .init(.couchDB, does: [.refused(400, "illegal_docid", "Document id must not be empty")], because: allOrNone))

    static let bulkNumberAsID = Expected(
        [Outcome.done(201), .done(201), .done(201)],
        .init(.couchDB, does: [.refused(400, "illegal_docid", "Document id must be a string")], because: allOrNone))

    static let bulkReservedMember = Expected(
        [Outcome.done(201), .done(201), .done(201)],
        .init(
            .couchDB, does: [.refused(400, "doc_validation", "Bad special document member: _foo")],
            because: allOrNone))

    static let bulkBadBase64 = Expected(
        [Outcome.done(201), .done(201), .refused(500, "500")],
        .init(.couchDB, does: [.refused(400, "bad_request")], because: allOrNone))

    static let bulkNotObject = Expected<Outcome?>(
        .refused(400, "Bad Request", "Document body must be JSON"),
        .init(
            .couchDB, does: .refused(400, "bad_request", "Document must be a JSON object"),
            because: "other words for the same"))

    static let bulkWithoutDocs = Expected<Outcome?>(
        .refused(400, "Bad Request", "missing 'docs' property"),
        .init(
            .couchDB, does: .refused(400, "bad_request", "POST body must include `docs` parameter."),
            because: "other words for the same"))

    static let bulkDocsNotArray = Expected<Outcome?>(
        .refused(400, "Bad Request", "missing 'docs' property"),
        .init(
            .couchDB, does: .refused(400, "bad_request", "`docs` parameter must be an array."),
            because: "other words for the same"))

    /// Whether the answer to `new_edits:false` has a row for each revision.
    static let storedRevisionsHaveRows = Expected(
        true, .init(.couchDB, does: false, because: "it names failures only"))

    /// Whether a second branch by `new_edits:false` is kept as a conflict. Nil: that depends on the configuration of
    /// the database.
    static let keepsSecondBranch = Expected<Bool?>(
        false,
        .init(.syncGateway3, does: nil, because: "it keeps conflicts if allow_conflicts is true, Sync Gateway 4 never"),
        .init(.couchDB, does: true, because: "conflicts are kept"))

    /// Whether `conflicts=true` shows the other branches.
    static let tellsConflicts = Expected(
        false, .init(.couchDB, does: true, because: "Sync Gateway shows them with open_revs and style=all_docs only"))

    static let storedWithoutRevision = Expected(
        [Outcome.refused(400, "bad_request", "Bad _revisions")],
        .init(.couchDB, does: [.refused(400, "bad_request")], because: allOrNone))

    /// The answer of `_bulk_get` to a client that accepts only JSON.
    static let bulkGetAsJSON = Expected<Outcome?>(
        .refused(406, "Not Acceptable", "Response is multipart"),
        .init(.couchDB, does: .done(200), because: "Sync Gateway knows the multipart form only"))

    static let bulkGetWithoutDocs = Expected<Outcome?>(
        .refused(400, "Bad Request", "missing 'docs' property"),
        .init(
            .couchDB, does: .refused(400, "bad_request", "Missing JSON list of 'docs'."),
            because: "other words for the same"))

    static let bulkGetDocsNotArray = Expected<Outcome?>(
        .refused(400, "Bad Request", "missing 'docs' property"),
        .init(.couchDB, does: nil, because: "not recorded"))
}

// MARK: - Lists

extension KnownDifferences {
    /// `total_rows` of a list that returns three of more documents.
    static let totalRowsCountsAnswer = Expected(
        true, .init(.couchDB, does: false, because: "it counts the documents of the database"))

    static let listHasSequence = Expected(
        true, .init(.couchDB, does: false, because: "it does if asked to"))

    static let statusOfMissingKey = Expected<Int?>(
        404, .init(.couchDB, does: nil, because: "its rows have no status"))

    /// The list's row for the key of a deleted document.
    static let deletedKey = Expected<Outcome>(
        .refused(404, "not_found"),
        .init(.couchDB, does: .done(201), because: #"its row says "value":{"rev":…,"deleted":true}"#))

    static let listWithoutKeys = Expected<Outcome?>(
        .refused(400, "Bad Request", "Bad/missing keys"),
        .init(.couchDB, does: .done(200), because: "without keys it lists all"))

    static let listKeysNotArray = Expected<Outcome?>(
        .refused(400, "Bad Request", "Bad/missing keys"),
        .init(
            .couchDB, does: .refused(400, "bad_request", "`keys` body member must be an array."),
            because: "other words for the same"))
}

// MARK: - The changes feed

extension KnownDifferences {
    /// Whether changes are listed in the order of their writes.
    static let feedIsOrdered = Expected(
        true, .init(.couchDB, does: false, because: "each shard of a database has an order of its own"))

    static let feedHasPending = Expected(
        false, .init(.couchDB, does: true, because: "Sync Gateway does not count what is still to come"))

    /// Whether `last_seq` of an answer without changes is the requested `since`.
    static let emptyFeedEchoesSince = Expected(
        true, .init(.couchDB, does: false, because: "sequences of the same place are spelled in several ways"))

    static let supportsActiveOnly = Expected(
        true, .init(.couchDB, does: false, because: "the parameter is Sync Gateway's own"))

    /// How many of three changes `limit=0` returns.
    static let limitZero = Expected(
        3, .init(.couchDB, does: 0, because: "0 is no limit to Sync Gateway, and none at all to CouchDB"))

    /// How many of four changes POST with `{"limit":1}` in the body returns.
    static let limitInBody = Expected(
        1, .init(.couchDB, does: 4, because: "it takes all parameters from the query, but for ids and selectors"))

    static let sinceText = Expected<Outcome?>(
        .refused(400, "Bad Request", #"Invalid sequence: "abc""#),
        .init(
            .syncGateway3, does: .refused(400, "Bad Request", "Invalid sequence"),
            because: "version 4 says which it was"),
        .init(.couchDB, does: malformedSequence, because: "other words for the same"))

    static let sinceNow = Expected<Outcome?>(
        .refused(400, "Bad Request", #"Invalid sequence: "now""#),
        .init(
            .syncGateway3, does: .refused(400, "Bad Request", "Invalid sequence"),
            because: "version 4 says which it was"),
        .init(.couchDB, does: .done(200), because: "Sync Gateway has no word for the present"))

    static let sinceNumber = Expected<Outcome?>(
        .done(200), .init(.couchDB, does: malformedSequence, because: "sequences are opaque strings"))

    private static let malformedSequence = Outcome.refused(
        400, "bad_request", "Malformed sequence supplied in 'since' parameter.")

    static let negativeSince = Expected<Outcome?>(
        .refused(400, "Bad Request"), .init(.couchDB, does: nil, because: "not recorded"))

    static let sinceFourParts = Expected<Outcome?>(
        .refused(400, "Bad Request"), .init(.couchDB, does: nil, because: "not recorded"))

    /// `5:3`, which a grant triggers, and `4::8`, which follows a skipped sequence.
    static let sinceOfSyncGateway = Expected<Outcome?>(
        .done(200), .init(.couchDB, does: nil, because: "not recorded"))

    /// An empty `since`, which means the beginning, and one in quotes.
    static let sinceEmptyOrQuoted = Expected<Outcome?>(
        .done(200), .init(.couchDB, does: nil, because: "not recorded"))

    static let unknownFeed = Expected<Outcome?>(
        .refused(400, "Bad Request", "Unknown feed type"),
        .init(.couchDB, does: .refused(400, "bad_request"), because: "other words for the same"))

    static let unknownFilter = Expected<Outcome?>(
        .refused(400, "Bad Request", "Unknown filter; try sync_gateway/bychannel or _doc_ids"),
        .init(.couchDB, does: .refused(404, "not_found"), because: "filters are functions in design documents"))

    static let filterWithoutChannels = Expected<Outcome?>(
        .refused(400, "Bad Request", "Missing 'channels' filter parameter"),
        .init(.couchDB, does: nil, because: "there are no channels"))

    static let filterOfLongpoll = Expected<Outcome?>(
        .refused(400, "Bad Request", "Filter '_doc_ids' is only valid for feed=normal replications"),
        .init(.couchDB, does: nil, because: "any feed can be filtered, so that this would wait"))

    static let feedOptionsNotJSON = Expected<Outcome?>(
        .refused(400, "Bad Request"),
        .init(.couchDB, does: .refused(400, "bad_request"), because: "other words for the same"))

    static let feedOptionsEmpty = Expected<Outcome?>(
        .refused(400, "Bad Request"), .init(.couchDB, does: .done(200), because: "they are not needed"))

    static let headOfFeed = Expected<Outcome?>(
        .done(400), .init(.couchDB, does: nil, because: "not recorded"))

    static let contentTypeOfContinuousFeed = Expected(
        "application/octet-stream",
        .init(.couchDB, does: "application/json", because: "it calls lines of JSON by that name too"))

    /// Whether a continuous feed that ends by itself has `last_seq` in its last line.
    static let continuousFeedEndsWithLastSequence = Expected(
        false, .init(.couchDB, does: true, because: "Sync Gateway ends without a word"))

    /// Whether `attachments=true` includes attachments in the documents of a feed.
    static let feedIncludesAttachments = Expected(
        false, .init(.couchDB, does: true, because: "Sync Gateway sends stubs only"))
}

// MARK: - Local documents

extension KnownDifferences {
    private static let takesAny = "it does not check revisions of local documents"

    /// An update that names no revision: the new revision, or nil if it is refused.
    static let localWithoutRevision = Expected<String?>(nil, .init(.couchDB, does: "0-1", because: takesAny))

    /// An update that names `0-99`.
    static let localStale = Expected<String?>(nil, .init(.couchDB, does: "0-100", because: takesAny))

    static let localArray = Expected<Outcome>(
        .refused(400, "Bad Request"),
        .init(
            .couchDB, does: .refused(400, "bad_request", "Document must be a JSON object"),
            because: "the reason is that of the JSON parser"))

    /// A deletion without a revision.
    static let localDeletion = Expected<Outcome?>(
        .refused(409, "conflict", "Document update conflict"), .init(.couchDB, does: nil, because: "not recorded"))
}

// MARK: - Attachments

extension KnownDifferences {
    /// The digest of the picture that the cases attach.
    static let digest = Expected(
        "sha1-Sl63FxtY4IpogXIeO0PVpEQZor4=",
        .init(.couchDB, does: "md5-+Cm5FPxHz8nAdHwRnCfPGw==", because: "it uses MD5"))

    static let entityTagOfAttachment = Expected(
        "\"sha1-Sl63FxtY4IpogXIeO0PVpEQZor4=\"",
        .init(.couchDB, does: "\"+Cm5FPxHz8nAdHwRnCfPGw==\"", because: "it uses MD5"))

    static let missingAttachment = Expected<Outcome>(
        .refused(404, "not_found", "missing attachment nope"),
        .init(
            .couchDB, does: .refused(404, "not_found", "Document is missing attachment"),
            because: "other words for the same"))

    /// A stub with a digest and a name that the document does not have.
    static let danglingStub = Expected<Outcome>(
        .done(201),
        .init(
            .couchDB, does: .refused(412, "missing_stub"),
            because: "Sync Gateway finds attachments by digest, and does not look whether there is one"))

    /// A stub without a digest in a new document.
    static let stubWithoutAttachment = Expected<Outcome>(
        .refused(400, "Bad Request", #"Missing digest in stub attachment "x""#),
        .init(.couchDB, does: .refused(412, "missing_stub"), because: "the name of the error tells"))

    static let attachingWithoutRevision = Expected<Outcome>(
        .refused(409, "conflict", "Cannot modify attachments without a specific rev ID"),
        .init(
            .couchDB, does: .refused(409, "conflict", "Document update conflict."),
            because: "it has the same words for all conflicts"))

    /// Whether parts of a multipart document must be named by digest.
    static let partsNeedDigest = Expected<Outcome?>(
        .refused(400, "Bad Request", "MIME part #2 doesn't match any attachment"),
        .init(.couchDB, does: nil, because: "it matches parts by their order"))

    static let missingParts = Expected<Outcome?>(
        .refused(400, "Bad Request", "Too few MIME parts: expected 2 attachments, got 1"),
        .init(.couchDB, does: nil, because: "not recorded"))
}

// MARK: - Compression

extension KnownDifferences {
    static let compressesAnswers = Expected(
        true, .init(.couchDB, does: false, because: "it sends JSON as it is"))

    static let cutGzip = Expected<Outcome>(
        .refused(400, "Bad Request"), .init(.couchDB, does: .refused(400, "bad_request"), because: "other words"))

    static let plainAsGzip = Expected<Outcome>(
        .refused(500, "Internal Server Error"),
        .init(.couchDB, does: .refused(400, "bad_request"), because: "Sync Gateway takes the blame"))

    static let deflate = Expected<Outcome>(
        .refused(415, "Unsupported Media Type", "Unsupported Content-Encoding; use gzip"),
        .init(.couchDB, does: .refused(415, "bad_content_type"), because: "other words for the same"))
}
