import Testing

@testable import GatewayClient

/// One refusal of a real gateway, and the expected error.
struct RecordedRefusal: Sendable, CustomTestStringConvertible {
    /// The subject of the request.
    enum Question: String {
        case database, changes, revisions, document, local, attachment, bulk
    }

    let dialect: GatewayDialect
    let status: Int
    /// It was sent with `WWW-Authenticate`.
    let isChallenge: Bool
    let name: String
    let reason: String
    let question: Question
    let code: String
    let cause: String

    private init?(_ line: Substring) {
        let parts = line.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 7, let status = Int(parts[1].filter(\.isNumber)),
            let question = Question(rawValue: parts[4])
        else { return nil }
        dialect = parts[0] == "C" ? .couchDB : .syncGateway
        self.status = status
        isChallenge = parts[1].hasSuffix("!")
        (name, reason, self.question, code, cause) = (parts[2], parts[3], question, parts[5], parts[6])
    }

    var testDescription: String { "\(status) \(reason)" }

    static let all = table.split(separator: "\n").compactMap(RecordedRefusal.init)

    /// All refusals observed from Sync Gateway 3.3.7 and 4.1.1 (S) and CouchDB 3.5.0 (C): server, status ("!": with a
    /// challenge), error, reason, subject; then code and cause.
    static let table = #"""
        C|400|doc_validation|Bad special document member: _nope|bulk|badRequest|reservedMember
        C|400|illegal_docid|Only reserved document ids may start with underscore.|bulk|badRequest|badDocumentID
        C|400|bad_request|invalid UTF-8 JSON|bulk|badRequest|invalidJSON
        C|400|bad_request|POST body must include `docs` parameter.|bulk|badRequest|missingDocuments
        C|400|bad_request|Malformed sequence supplied in 'since' parameter.|changes|badRequest|badSequence
        S|400|Bad Request|Invalid revision ID|document|badRequest|badRevision
        S|400|Bad Request|Bad JSON: unexpected EOF|document|badRequest|invalidJSON
        S|400|Bad Request|Bad JSON: json: cannot unmarshal array into Go value of type db.Body|document|badRequest|invalidJSON
        S|400|Bad Request|The document ID provided in the body does not match the document ID in the path|document|badRequest|badDocumentID
        S|400|Bad Request|document-top level property '_sync' is a reserved internal property|document|badRequest|reservedMember
        S|400|Bad Request|Invalid doc ID|document|badRequest|badDocumentID
        S|400|Bad Request|missing 'docs' property|bulk|badRequest|missingDocuments
        S|400|Bad Request|Document body must be JSON|bulk|badRequest|invalidJSON
        S|400|Bad Request|Invalid sequence|changes|badRequest|badSequence
        S|400|Bad Request|Invalid JSON: "unexpected end of JSON input"|changes|badRequest|invalidJSON
        S|400|Bad Request|Unknown feed type|changes|badRequest|badFeedOption
        S|400|Bad Request|Unknown filter; try sync_gateway/bychannel or _doc_ids|changes|badRequest|badFeedOption
        S|400|Bad Request|Missing 'channels' filter parameter|changes|badRequest|badFeedOption
        S|400|Bad Request|Invalid JSON: "json: cannot unmarshal array into Go struct field .channels of type string"|changes|badRequest|invalidJSON
        S|400|Bad Request|Filter '_doc_ids' is only valid for feed=normal replications|changes|badRequest|badFeedOption
        S|400|Bad Request|Error creating user: Passwords must be at least three 3 characters|database|badRequest|badPassword
        S|400|Bad Request|Missing digest in stub attachment "yy"|document|badRequest|badAttachment
        S|400|Bad Request|MIME part #2 doesn't match any attachment|document|badRequest|badAttachment
        S|400|Bad Request|Too few MIME parts: expected 2 attachments, got 1|document|badRequest|badAttachment
        S|400|Bad Request|invalid database name "todo._default.tasks"|database|badRequest|badDatabaseName
        S|400|Bad Request|Invalid version type for OCC value: "xyz"|document|badRequest|badRevision
        S|400|Bad Request|Invalid sequence: "abc"|changes|badRequest|badSequence
        S|400|Bad Request|Invalid sequence: "now"|changes|badRequest|badSequence
        S|400|Bad Request|Invalid sequence: "-1"|changes|badRequest|badSequence
        S|400|Bad Request|Invalid sequence: "{}"|changes|badRequest|badSequence
        S|400|Bad Request|Invalid sequence: "1:2:3:4"|changes|badRequest|badSequence
        C|401|unauthorized|You are not authorized to access this db.|changes|unauthorized|accessDenied
        C|401|unauthorized|Name or password is incorrect.|database|unauthorized|wrongCredentials
        S|401!|Unauthorized|Login required|database|unauthorized|loginRequired
        S|401!|Unauthorized|Invalid login|changes|unauthorized|wrongCredentials
        S|401|Unauthorized|Invalid login|changes|unauthorized|unknownDatabaseOrLogin
        S|401|Unauthorized|Login required|database|unauthorized|unknownDatabaseOrLogin
        S|401|Unauthorized|Session Invalid|changes|unauthorized|sessionInvalid
        C|403|forbidden|You are not allowed to access this db.|database|forbidden|accessDenied
        S|403|Forbidden|Creating a DB over the public API is unsupported|database|forbidden|databaseMissing
        S|403|Forbidden|type is not provided.|document|forbidden|writeRefused
        S|403|Forbidden|sg wrong user|document|forbidden|writeRefused
        S|403|Forbidden|sg missing role|document|forbidden|writeRefused
        S|403|Forbidden|forbidden|revisions|forbidden|notVisible
        C|404|not_found|Database does not exist.|database|notFound|databaseMissing
        C|404|not_found|deleted|revisions|notFound|documentDeleted
        C|404|not_found|missing|revisions|notFound|documentMissing
        C|404|not_found|missing|local|notOffered|localDocumentMissing
        S|404|not_found|unknown URL|database|notFound|unknownPath
        S|404|not_found|missing|revisions|notFound|documentMissing
        S|404|not_found|deleted|revisions|notFound|documentDeleted
        S|404|not_found|Document revision is not accessible|document|notFound|revisionInaccessible
        S|404|not_found|missing attachment nope.txt|attachment|notFound|attachmentMissing
        S|404|not_found|keyspace open.s.c not found|revisions|notFound|collectionMissing
        S|404|not_found|keyspace todo not found|changes|notFound|databaseMissing
        S|404|not_found|keyspace todo._default.nope not found|changes|notFound|collectionMissing
        S|405|Method Not Allowed||changes|badRequest|methodNotAllowed
        S|406|Not Acceptable|Response is multipart|revisions|badRequest|notAcceptable
        S|406|Not Acceptable|only application/json available|revisions|badRequest|notAcceptable
        C|409|conflict|Document update conflict.|document|conflict|documentConflict
        S|409|conflict|Document exists|document|conflict|documentExists
        S|409|conflict|Document revision conflict|document|conflict|documentConflict
        S|409|conflict|Document update conflict|local|conflict|localDocumentConflict
        S|409|conflict|Cannot modify attachments without a specific rev ID|attachment|conflict|attachmentConflict
        C|412|nodedown|progress not possible|document|unavailable|databaseOffline
        C|412|file_exists|The database could not be created, the file already exists.|database|conflict|databaseExists
        C|412|missing_stub|Invalid attachment stub in t2 for image|document|conflict|missingStub
        S|412|Precondition Failed|Database already exists|database|conflict|databaseExists
        S|413|Request Entity Too Large|Document too large!|document|tooLarge|documentTooLarge
        S|413|Request Entity Too Large|Attachment too large|document|tooLarge|attachmentTooLarge
        S|415|Unsupported Media Type|Invalid content type text/plain|document|badRequest|unsupportedMediaType
        S|415|Unsupported Media Type|Unsupported Content-Encoding; use gzip|document|badRequest|unsupportedEncoding
        S|500|Internal Server Error|Internal error: strconv.ParseUint: parsing "": invalid syntax|changes|badRequest|badSequence
        S|500|Internal Server Error|Internal error: unexpected EOF|document|serverError|unreadableBody
        S|503|Service Unavailable|DB is currently under maintenance|changes|unavailable|databaseOffline
        S|503|Service Unavailable|Replication limit exceeded. Try again later.|changes|unavailable|tooManyFeeds
        """#
}
