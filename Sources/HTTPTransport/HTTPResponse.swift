/// The head of an answer, and its body to be read.
package struct HTTPResponse: Sendable {
    /// As the server sent it; never 1xx (those are skipped), and a redirect is returned like any other.
    package let status: Int
    package let headers: HTTPHeaders
    /// Dropping it unread closes the connection; reading it to the end lets the next request use it.
    package let body: HTTPBody
}
