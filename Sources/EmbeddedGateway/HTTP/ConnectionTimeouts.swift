internal import NIOCore
internal import NIOHTTP1

/// How long a connection may make no headway before it is closed.
struct ConnectionTimeouts: Sendable {
    /// - Note: Source: the first is `idle_timeout` of Sync Gateway. It has no others by default; these only end what
    ///   will never go on, or hold memory for nobody.
    struct Limits: Sendable {
        /// For the next request to come, with its whole head.
        var head = TimeAmount.seconds(90)
        /// For the next piece of a body.
        var body = TimeAmount.seconds(60)
        /// For the client to take what was sent. A client that is busy with what it has read may let an answer wait.
        var writing = TimeAmount.minutes(10)
    }

    private let channel: any Channel
    private let limits: Limits

    init(_ channel: any Channel, _ limits: Limits) {
        self.channel = channel
        self.limits = limits
    }

    /// Closes the connection now.
    @Sendable func close() { channel.close(promise: nil) }

    /// Closes the connection when the time is over. Whoever got what he waited for cancels it.
    func closing(after limit: KeyPath<Limits, TimeAmount>) -> Scheduled<Void> {
        channel.eventLoop.scheduleTask(in: limits[keyPath: limit]) { channel.close(promise: nil) }
    }

    /// Sends a part of an answer; returns when the kernel has taken it.
    ///
    /// The writer of the connection would take any number of parts while its event loop is busy elsewhere: memory that
    /// nobody counts.
    ///
    /// - Parameter whenTaken: Called on the event loop, when the kernel has taken it: a busy process may come to the
    ///   caller only later.
    /// - Throws: What the connection ended with. A cancelled task closes it.
    func deliver(_ part: HTTPServerResponsePart, whenTaken: @escaping @Sendable () -> Void) async throws {
        let end = closing(after: \.writing)
        let taken = channel.eventLoop.makePromise(of: Void.self)
        taken.futureResult.whenComplete { _ in end.cancel() }
        taken.futureResult.whenSuccess { whenTaken() }
        channel.writeAndFlush(part, promise: taken)
        try await withTaskCancellationHandler {
            try await taken.futureResult.get()
        } onCancel: {
            channel.close(promise: nil)
        }
    }
}
