/// The head of an answer, and its body to be read.
package struct HTTPResponse: Sendable {
    /// As the server sent it; never 1xx (those are skipped), and a redirect is returned like any other.
    package let status: Int
    /// Of the final answer, without interim heads and trailers.
    package let headers: HTTPHeaders
    /// Dropping it unread closes the connection; reading it to the end frees the connection for the next request.
    package let body: HTTPBody
    /// How the request's body left. Nil unless ``HTTPRequest/measuresUpload`` is set, for a short body, and if the answer
    /// came before its end.
    package let upload: HTTPUpload?
    /// Nil unless ``HTTPRequest/reportsConnection`` is set.
    package let connection: HTTPConnectionReport?
}
