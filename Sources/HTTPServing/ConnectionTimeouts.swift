package import NIOCore
internal import NIOHTTP1

/// How long a connection may make no progress before it is closed.
package struct ConnectionTimeouts: Sendable {
    /// - Note: Source: `head` is Sync Gateway's `idle_timeout`. Sync Gateway has no other limits by default; these only
    ///   end connections that will never continue or that occupy memory.
    package struct Limits: Sendable {
        /// Until the next request's head is complete.
        package var head: TimeAmount
        /// Until the next piece of a body arrives.
        package var body: TimeAmount
        /// Until the client has read the sent bytes. Long, because a client may pause to process what it has read.
        package var writing: TimeAmount

        /// Limits for clients on the network.
        package init(
            head: TimeAmount = .seconds(90), body: TimeAmount = .seconds(60), writing: TimeAmount = .minutes(10)
        ) {
            self.head = head
            self.body = body
            self.writing = writing
        }

        /// The same limits, for clients that have no reason to pause.
        package init(readWithin span: Duration) { self.init(writing: TimeAmount(span)) }
    }

    private let channel: any Channel
    private let limits: Limits

    init(_ channel: any Channel, _ limits: Limits) {
        self.channel = channel
        self.limits = limits
    }

    /// Closes the connection now.
    @Sendable func close() { channel.close(promise: nil) }

    /// Closes the connection after the time limit, unless the returned task is cancelled first.
    func closing(after limit: KeyPath<Limits, TimeAmount>) -> Scheduled<Void> {
        channel.eventLoop.scheduleTask(in: limits[keyPath: limit]) { channel.close(promise: nil) }
    }

    /// Sends a part of an answer; returns when the kernel has taken it.
    ///
    /// Waits until the kernel has taken the part. Otherwise, while its event loop is busy, the connection's writer
    /// would accept any number of parts, which would be uncounted memory.
    ///
    /// - Parameter whenTaken: Called on the event loop when the kernel has taken the part, because in a busy process
    ///   the caller may resume only later.
    /// - Throws: The connection's error. Cancelling the task closes the connection.
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
