import Glibc

/// One connection as the script of a ``TestServer`` sees it. Its methods block and throw ``TestServerError``.
package final class TestConnection {
    private(set) var isReset = false
    let descriptor: Int32
    private var ahead: [UInt8] = []
    private var chunk = [UInt8](repeating: 0, count: 64 << 10)

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }

    /// The next request with its body (by `Content-Length`, not chunked); nil when the client has closed.
    package func readRequest() throws -> TestRequest? {
        guard let head = try readHead() else { return nil }
        var request = TestRequest(head: head)
        if let length = request.contentLength { request.body = try read(length) }
        return request
    }

    /// The next request up to the blank line; nil when the client has closed. The body stays unread.
    package func readHead() throws -> String? {
        let mark = Array("\r\n\r\n".utf8)
        var searched = 0
        while true {
            if let end = Self.end(of: mark, in: ahead, from: max(0, searched - 3)) {
                defer { ahead.removeFirst(end) }
                return String(decoding: ahead[..<end], as: UTF8.self)
            }
            searched = ahead.count
            guard try fill() else { return nil }
        }
    }

    /// Exactly `count` bytes. Throws if the client closes before that.
    package func read(_ count: Int) throws -> [UInt8] {
        ahead.reserveCapacity(count)
        while ahead.count < count {
            guard try fill() else { throw TestServerError(call: "recv: end of stream") }
        }
        defer { ahead.removeFirst(count) }
        return Array(ahead[..<count])
    }

    /// Sends the text unchanged, as UTF-8.
    package func write(_ text: String) throws { try write(Array(text.utf8)) }

    /// Returns when the kernel has taken all bytes.
    package func write(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                send(descriptor, bytes.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw TestServerError(call: "send") }
            sent += count
        }
    }

    /// Uses one `send` per byte, so that the client may read them one at a time.
    package func writeByteByByte(_ text: String) throws {
        for byte in text.utf8 { try write([byte]) }
    }

    /// Sends a whole answer. `Content-Length` comes first; `headers` are lines such as `Connection: close`.
    package func answer(_ status: Int = 200, headers: [String] = [], body: String = "") throws {
        let lines = ["HTTP/1.1 \(status) Answer", "Content-Length: \(body.utf8.count)"] + headers
        try write(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
    }

    /// Calls `body`, which must answer, for every request until the client closes the connection.
    package func serve(_ body: (TestRequest) throws -> Void) throws {
        while let request = try readRequest() { try body(request) }
    }

    /// Reads and discards until the client closes the connection.
    package func waitForClose() {
        ahead = []
        while (try? fill()) == true { ahead = [] }
    }

    /// Makes the connection end with RST instead of FIN; it closes when the script returns.
    package func reset() {
        isReset = true
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
    }

    private func fill() throws -> Bool {
        let count = recv(descriptor, &chunk, chunk.count, 0)
        guard count >= 0 else { throw TestServerError(call: "recv") }
        ahead += chunk[..<count]
        return count > 0
    }

    private static func end(of mark: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        guard bytes.count >= start + mark.count else { return nil }
        for place in start...(bytes.count - mark.count) where bytes[place..<(place + mark.count)].elementsEqual(mark) {
            return place + mark.count
        }
        return nil
    }
}
