internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// An HTTP/1.1 server on one address. All servers of the process share its event loops.
final class HTTPServer: Sendable {
    typealias Respond = @Sendable (Request) async -> Answer

    private let listener: any Channel
    private let connections: Connections

    /// The most bytes of a request's body: enough for three documents of the maximum size with an attachment each.
    static let bodyLimit = 64 << 20
    /// The most bytes of a request's head.
    private static let headLimit = 64 << 10
    /// How long a client may take to close its side after the last answer.
    private static let lingering = TimeAmount.seconds(5)

    private init(_ listener: any Channel, _ connections: Connections) {
        self.listener = listener
        self.connections = connections
    }

    var port: Int { listener.localAddress?.port ?? 0 }

    /// Binds and serves until ``stop()``.
    ///
    /// - Throws: `IOError` if the address can't be bound.
    static func start(
        host: String, port: Int, limits: ConnectionTimeouts.Limits = ConnectionTimeouts.Limits(),
        waiting: WaitingOutput = WaitingOutput(), bodies: IncomingBodies = IncomingBodies(),
        respond: @escaping Respond
    ) async throws -> HTTPServer {
        let connections = Connections()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 4_096)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try accept(channel, connections, limits, waiting, bodies, respond)
                }
            }
            .bind(host: host, port: port).get()
        return HTTPServer(listener, connections)
    }

    /// Stops listening, cancels all requests and waits until every connection is closed. Streamed answers end without
    /// their final chunk.
    func stop() async {
        try? await listener.close()
        await connections.stop()
    }

    private static func accept(
        _ channel: any Channel, _ connections: Connections, _ timeouts: ConnectionTimeouts.Limits,
        _ waiting: WaitingOutput,
        _ bodies: IncomingBodies, _ respond: @escaping Respond
    ) throws {
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
            await serve(parts, ConnectionTimeouts(channel, timeouts), waiting, bodies, respond)
        }
    }

    private static func serve(
        _ channel: NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>, _ timeouts: ConnectionTimeouts,
        _ waiting: WaitingOutput, _ bodies: IncomingBodies, _ respond: Respond
    ) async {
        // An error means that a client disconnected or an answer was cut; either way the connection ends.
        try? await channel.executeThenClose { inbound, outbound in
            var parts = inbound.makeAsyncIterator()
            do {
                try await answerAll(&parts, outbound, timeouts, waiting, bodies, respond)
            } catch let error as HTTPParserError {
                try await refuse(error, outbound)
            } catch is ConnectionCut {}
            // Returning from this closure closes the connection and drops unsent data. So finish our side first, then
            // read whatever the client still sends until it closes.
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
        _ waiting: WaitingOutput, _ bodies: IncomingBodies, _ respond: Respond
    ) async throws {
        while let head = try await nextHead(&parts, timeouts) {
            var exchange = HTTPExchange(head, parts, outbound, timeouts, waiting, bodies)
            defer { exchange.releaseBody() }
            let answer: Answer
            do {
                let request = try await exchange.request(limit: bodyLimit)
                await waiting.room()
                answer = await respond(request)
            } catch is HTTPExchange.BodyTooLarge {
                answer = Answer(RequestError.documentTooLarge)
            } catch is IncomingBodies.NoRoom {
                answer = Answer(RequestError.tooManyBodies)
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
