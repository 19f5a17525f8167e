internal import HTTPServing

/// Serves a playground on this machine.
package final class PlayServer: Sendable {
    private let server: HTTPServer
    private let host: String
    private let token: PlayToken

    /// Listens until ``stop()``.
    ///
    /// - Parameters:
    ///   - host: An address of the loopback interface, or `localhost`.
    ///   - port: 0 picks a free one.
    /// - Throws: `ListenError`, `JSONError` if the schema is not JSON.
    package init(_ settings: PlaySettings, host: String, port: Int) async throws {
        let token = PlayToken()
        let answers = try PlayAnswers(settings, token: token)
        var serving = HTTPServer.Settings(product: "changebot/\(settings.version)")
        serving.host = host
        serving.port = port
        serving.bodyLimit = PlayAnswers.bodyLimit
        serving.tooLarge = PlayAnswers.answer(Refusal(413, "the text or the document is too long; make it shorter"))
        serving.timeouts = ConnectionTimeouts.Limits(readWithin: .seconds(120))
        server = try await HTTPServer.start(serving) { await answers.answer($0) }
        self.token = token
        self.host = host
    }

    /// The address of the page, with the token that only the opened page has.
    package var url: String { "http://\(HostAndPort.text(host, server.port))/#\(token.text)" }

    /// Stops listening and closes all connections.
    package func stop() async { await server.stop() }
}
