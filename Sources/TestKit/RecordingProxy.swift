import Glibc

/// Forwards each request to a server on another loopback port, and records it with its answer before the client
/// receives the answer. Records are therefore in the order in which the client sees them.
///
/// Each request has its own connection. Answers are held until they are complete.
package final class RecordingProxy: Sendable {
    /// A request and its answer.
    package struct Exchange: Sendable {
        package let request: TestRequest
        package let status: Int
        /// Without the framing of chunks.
        package let body: [UInt8]
    }

    private let server: TestServer

    /// The port on 127.0.0.1.
    package var port: Int { server.port }

    /// - Parameters:
    ///   - port: The target port on 127.0.0.1.
    ///   - before: Called before a request is forwarded. May block.
    ///   - record: Called with each complete exchange, in the thread of its connection.
    /// - Throws: ``TestServerError`` if there is no socket or port.
    package init(
        to port: Int, before: @escaping @Sendable (TestRequest) -> Void = { _ in },
        record: @escaping @Sendable (Exchange) -> Void
    ) throws {
        server = try TestServer { connection in
            try connection.serve { request in
                before(request)
                guard let answer = try Self.exchange(request, with: port, for: connection) else { throw Hangup() }
                record(Exchange(request: request, status: Self.status(answer), body: Self.body(answer)))
                try connection.write(answer)
                throw Hangup()
            }
        }
    }

    private struct Hangup: Error {}

    /// - Returns: The whole answer; nil if the client has gone.
    private static func exchange(
        _ request: TestRequest, with port: Int, for client: TestConnection
    ) throws -> [UInt8]? {
        let upstream = try LoopbackSocket.connect(to: port)
        defer { close(upstream) }
        let headers = request.headers.filter { !["connection", "expect"].contains($0.name) }
        let lines =
            ["\(request.method) \(request.target) HTTP/1.1"] + headers.map { "\($0.name): \($0.value)" }
            + ["connection: close"]
        let bytes = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + request.body
        try LoopbackSocket.send(bytes, to: upstream)
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            var entries = [
                pollfd(fd: upstream, events: Int16(POLLIN), revents: 0),
                // The client sends nothing more before the answer, except the end of its stream.
                pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&entries, 2, -1) > 0 else { continue }
            if entries[1].revents != 0 { return nil }
            let count = recv(upstream, &chunk, chunk.count, 0)
            guard count > 0 else { return answer.isEmpty ? nil : answer }
            answer += chunk[..<count]
        }
    }

    // MARK: - Answers

    private static func status(_ answer: [UInt8]) -> Int {
        Int(String(decoding: answer.prefix(32), as: UTF8.self).split(separator: " ").dropFirst().first ?? "") ?? 0
    }

    private static func body(_ answer: [UInt8]) -> [UInt8] {
        guard let end = end(of: "\r\n\r\n", in: answer[...]) else { return [] }
        let head = String(decoding: answer[..<end], as: UTF8.self).lowercased()
        let body = answer[end...]
        return head.contains("transfer-encoding: chunked") ? unchunked(body) : Array(body)
    }

    private static func unchunked(_ chunks: ArraySlice<UInt8>) -> [UInt8] {
        var (rest, body) = (chunks, [UInt8]())
        while let end = end(of: "\r\n", in: rest) {
            let line = String(decoding: rest[..<(end - 2)], as: UTF8.self)
            guard let size = Int(line, radix: 16), size > 0, size <= rest.endIndex - end else { break }
            body += rest[end..<(end + size)]
            rest = rest[(end + size)...].dropFirst(2)
        }
        return body
    }

    private static func end(of mark: String, in bytes: ArraySlice<UInt8>) -> Int? {
        let mark = Array(mark.utf8)
        guard bytes.count >= mark.count else { return nil }
        return (bytes.startIndex...(bytes.endIndex - mark.count))
            .first { bytes[$0..<($0 + mark.count)].elementsEqual(mark) }.map { $0 + mark.count }
    }
}

/// Connections to a port on 127.0.0.1.
enum LoopbackSocket {
    static func connect(to port: Int) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = UInt16(port).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(descriptor, $0, size) }
        }
        guard result == 0 else {
            close(descriptor)
            throw TestServerError(call: "connect")
        }
        return descriptor
    }

    static func send(_ bytes: [UInt8], to descriptor: Int32) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                Glibc.send(
                    descriptor, bytes.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw TestServerError(call: "send") }
            sent += count
        }
    }
}
