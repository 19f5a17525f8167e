internal import HTTPServing
internal import LosslessJSON

extension Answer {
    /// An answer with the error body of an error.
    init(_ error: RequestError) {
        var body = JSONWriter()
        body.object { body in
            body.member("error", string: error.name)
            body.name("reason")
            body.escapedString(error.reason)
        }
        self = .json(body.bytes, status: error.status, fields: error.headers)
    }
}

extension HTTPField {
    /// In every answer of `_changes`.
    static let neverCached = HTTPField("Cache-Control", "private, max-age=0, no-cache, no-store")

    static func revisionTag(_ revision: String) -> HTTPField { HTTPField("Etag", "\"\(revision)\"") }
}

extension HTTPServer.Settings {
    /// The limits and answers of the gateway.
    static var embeddedGateway: HTTPServer.Settings {
        var settings = HTTPServer.Settings(product: Greeting.product)
        settings.bodyLimit = Router.bodyLimit
        settings.tooLarge = Answer(RequestError.documentTooLarge)
        settings.noRoom = Answer(RequestError.tooManyBodies)
        return settings
    }
}

extension Router {
    /// The maximum number of bytes of a request's body: enough for three documents of the maximum size with an
    /// attachment each.
    static let bodyLimit = 64 << 20
}
