/// The head of an answer, and its unread body.
package struct HTTPResponse: Sendable {
    /// As the server sent it; never 1xx (those are skipped), and a redirect is returned like any other.
    package let status: Int
    /// The headers of the final answer, without interim heads and trailers.
    package let headers: HTTPHeaders
    /// Dropping it unread closes the connection; reading it to the end frees the connection for the next request.
    package let body: HTTPBody
    /// How fast the request's body was sent. Nil unless ``HTTPRequest/measuresUpload`` is set, for a short body, and if
    /// the answer came before the end of the body.
    package let upload: HTTPUpload?
    /// Nil unless ``HTTPRequest/reportsConnection`` is set.
    package let connection: HTTPConnectionReport?
}
