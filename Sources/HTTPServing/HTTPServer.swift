internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// An HTTP/1.1 server on one address. All servers of the process share its event loops.
package final class HTTPServer: Sendable {
    /// Answers a request. Cancelled when the client disconnects.
    package typealias RequestHandler = @Sendable (Request) async -> Answer

    /// The settings of a server. Every default is written here.
    package struct Settings: Sendable {
        /// A name or an address.
        package var host = "127.0.0.1"
        /// The port; 0 picks a free one.
        package var port = 0
        /// The `Server` header of every answer.
        package var product: String
        /// How long connections may make no progress.
        package var timeouts = ConnectionTimeouts.Limits()
        /// Bytes of an answer that the kernel may buffer for a client that does not read. Nil: no limit.
        package var sendBuffer: Int?
        /// Bounds the answers in memory.
        package var waiting = WaitingOutput()
        /// Bounds the requests in memory.
        package var bodies = IncomingBodies()
        /// The maximum number of bytes of a request's body.
        package var bodyLimit = 64 << 20
        /// The answer to a body over ``bodyLimit``.
        package var tooLarge = Answer(status: 413)
        /// The answer to a body for which ``bodies`` has no room.
        package var noRoom = Answer(status: 503, fields: [HTTPField("Retry-After", "1")])

        /// Settings for a server on a free port of the loopback interface.
        package init(product: String) { self.product = product }
    }

    private let listener: any Channel
    private let connections: Connections

    /// The maximum number of bytes of a request's head.
    private static let headLimit = 64 << 10
    /// How long a client may take to close its side after the last answer.
    private static let lingering = TimeAmount.seconds(5)

    private init(_ listener: any Channel, _ connections: Connections) {
        self.listener = listener
        self.connections = connections
    }

    /// The port that was bound, never 0.
    package var port: Int { listener.localAddress?.port ?? 0 }

    /// Binds and serves until ``stop()``.
    ///
    /// - Throws: ``ListenError`` if the address can't be bound.
    package static func start(
        _ settings: Settings, respond: @escaping RequestHandler
    ) async throws(ListenError) -> HTTPServer {
        let connections = Connections()
        do {
            let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .serverChannelOption(.backlog, value: 4_096)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture { try accept(channel, connections, settings, respond) }
                }
                .bind(host: settings.host, port: settings.port).get()
            return HTTPServer(listener, connections)
        } catch {
            throw ListenError(host: settings.host, port: settings.port, error)
        }
    }

    /// Stops listening, cancels all requests and waits until every connection is closed. Streamed answers end without
    /// their final chunk.
    package func stop() async {
        try? await listener.close()
        await connections.stop()
    }

    private static func accept(
        _ channel: any Channel, _ connections: Connections, _ settings: Settings, _ respond: @escaping RequestHandler
    ) throws {
        if let bytes = settings.sendBuffer {
            try channel.syncOptions?.setOption(.socketOption(.so_sndbuf), value: .init(bytes))
        }
        // HTTPExchange sets the framing, because the automatic one is wrong for HEAD.
        var framing = HTTPResponseEncoder.Configuration()
        framing.automaticallySetFramingHeaders = false
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderListSize = headLimit
        try channel.pipeline.syncOperations.configureHTTPServerPipeline(
            withPipeliningAssistance: false, withErrorHandling: false, withOutboundHeaderValidation: true,
            withEncoderConfiguration: framing, withDecoderLimitConfiguration: limits)
        let parts = try NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>(
            wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
        connections.add(channel) {
            await serve(parts, ConnectionTimeouts(channel, settings.timeouts), settings, respond)
        }
    }

    private static func serve(
        _ channel: NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>, _ timeouts: ConnectionTimeouts,
        _ settings: Settings, _ respond: RequestHandler
    ) async {
        // An error means that a client disconnected or an answer was cut; either way the connection ends.
        try? await channel.executeThenClose { inbound, outbound in
            var parts = inbound.makeAsyncIterator()
            do {
                try await answerAll(&parts, outbound, timeouts, settings, respond)
            } catch let error as HTTPParserError {
                try await refuse(error, outbound)
            } catch is ConnectionCut {}
            // Returning from this closure closes the connection and drops unsent data. Therefore finish our side first,
            // then read what the client sends until it closes.
            outbound.finish()
            let closing = channel.channel.eventLoop.scheduleTask(in: lingering) {
                channel.channel.close(promise: nil)
            }
            defer { closing.cancel() }
            while try await parts.next() != nil {}
        }
    }

    private static func answerAll(
        _ parts: inout HTTPExchange.Inbound, _ outbound: HTTPExchange.Outbound, _ timeouts: ConnectionTimeouts,
        _ settings: Settings, _ respond: RequestHandler
    ) async throws {
        while let head = try await nextHead(&parts, timeouts) {
            var exchange = HTTPExchange(head, parts, outbound, timeouts, settings)
            defer { exchange.releaseBody() }
            let answer: Answer
            do {
                let request = try await exchange.request(limit: settings.bodyLimit)
                await settings.waiting.room()
                answer = await respond(request)
            } catch is HTTPExchange.BodyTooLarge {
                answer = settings.tooLarge
            } catch is IncomingBodies.BodyMemoryExhausted {
                answer = settings.noRoom
            }
            try Task.checkCancellation()
            try await exchange.send(answer)
            guard exchange.isKeptAlive else { return }
            while try await exchange.nextPart() != nil {}
            parts = exchange.inbound
        }
    }

    private static func nextHead(
        _ parts: inout HTTPExchange.Inbound, _ timeouts: ConnectionTimeouts
    ) async throws -> HTTPRequestHead? {
        let end = timeouts.closing(after: \.head)
        defer { end.cancel() }
        guard case .head(let head)? = try await parts.next() else { return nil }
        return head
    }

    private static func refuse(_ error: HTTPParserError, _ outbound: HTTPExchange.Outbound) async throws {
        let head = HTTPResponseHead(
            version: .http1_1, status: error == .headerOverflow ? .requestHeaderFieldsTooLarge : .badRequest,
            headers: ["Content-Length": "0", "Connection": "close"])
        try await outbound.write(contentsOf: [.head(head), .end(nil)])
    }
}
