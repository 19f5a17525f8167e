internal import HTTPServing

/// Why a request, or one document of a batch, was refused.
///
/// - Note: Source: recorded error bodies of Sync Gateway 4.1.1: `{"error":NAME,"reason":TEXT}`. Rows of `_bulk_docs`
///   use other names for some statuses.
struct RequestError: Error, Equatable {
    let status: Int
    let reason: String
    /// Header fields that belong to this error's answer.
    var headers: [HTTPField] = []

    init(_ status: Int, _ reason: String, headers: [HTTPField] = []) {
        self.status = status
        self.reason = reason
        self.headers = headers
    }

    /// The `error` of a whole answer for this status.
    var name: String {
        switch status {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "not_found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 409: "conflict"
        case 412: "Precondition Failed"
        case 413: "Request Entity Too Large"
        case 415: "Unsupported Media Type"
        case 418: "I'm a teapot"
        case 416: "Requested Range Not Satisfiable"
        case 503: "Service Unavailable"
        default: "Internal Server Error"
        }
    }

    /// The `error` of a `_bulk_docs` row for this status.
    var rowName: String {
        switch status {
        case 400: "bad_request"
        case 401: "unauthorized"
        case 403: "forbidden"
        case 404: "not_found"
        case 409: "conflict"
        default: String(status)
        }
    }
}

extension RequestError {
    static let missing = RequestError(404, "missing")
    /// The bodies of other requests use the whole body memory.
    static let tooManyBodies = RequestError(
        503, "too many large requests at the same time", headers: [HTTPField("Retry-After", "1")])
    static let deleted = RequestError(404, "deleted")
    static let unknownURL = RequestError(404, "unknown URL")
    static let documentExists = RequestError(409, "Document exists")
    static let revisionConflict = RequestError(409, "Document revision conflict")
    static let localConflict = RequestError(409, "Document update conflict")
    static let documentTooLarge = RequestError(413, "Document too large!")
    static let attachmentTooLarge = RequestError(413, "Attachment too large")
    static let invalidDocumentID = RequestError(400, "Invalid doc ID")

    /// The path exists, but not for this method.
    static func methodNotAllowed(_ allowed: String) -> RequestError {
        RequestError(405, "", headers: [HTTPField("Allow", allowed)])
    }
}
