import NIOCore
import NIOPosix

/// A TCP connection that sends exactly what a test specifies.
struct RawConnection {
    struct Closed: Error {}

    private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private var received: [UInt8] = []

    private init(
        _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>, _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) {
        self.inbound = inbound.makeAsyncIterator()
        self.outbound = outbound
    }

    /// Connects to the loopback; the connection is closed when `body` returns.
    static func with<Result: Sendable>(
        port: Int, _ body: (inout RawConnection) async throws -> Result
    ) async throws -> Result {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            var connection = RawConnection(inbound, outbound)
            return try await body(&connection)
        }
    }

    func send(_ text: String) async throws { try await outbound.write(ByteBuffer(string: text)) }

    func get(_ target: String) async throws { try await send("GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n") }

    /// Reads up to and including `end`.
    ///
    /// - Throws: ``Closed`` if the connection ends before.
    mutating func read(through end: String) async throws -> String {
        let end = Array(end.utf8)
        while true {
            if let range = received.firstRange(of: end) {
                defer { received.removeSubrange(..<range.upperBound) }
                return String(decoding: received[..<range.upperBound], as: UTF8.self)
            }
            guard let part = try await inbound.next() else { throw Closed() }
            received += part.readableBytesView
        }
    }

    /// Reads a head and the body that its `Content-Length` announces.
    mutating func readAnswer() async throws -> (head: String, body: String) {
        let head = try await read(through: "\r\n\r\n")
        let length = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
        let count = length.flatMap { Int($0.dropFirst(16)) } ?? 0
        while received.count < count {
            guard let part = try await inbound.next() else { throw Closed() }
            received += part.readableBytesView
        }
        defer { received.removeFirst(count) }
        return (head, String(decoding: received[..<count], as: UTF8.self))
    }

    /// The rest until the other side closes the connection.
    mutating func readToEnd() async throws -> String {
        while let part = try await inbound.next() { received += part.readableBytesView }
        defer { received = [] }
        return String(decoding: received, as: UTF8.self)
    }
}
