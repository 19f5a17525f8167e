import TestKit
import Testing

@testable import HTTPTransport

@Suite(.limitedParallelism) struct FaultTests {
    @Test func refusedConnectionIsReported() async throws {
        let port = try TestServer { _ in }.port  // stopped as soon as it is let go
        let client = HTTPClient()
        var error: HTTPTransportError?
        // The listener closes on its own thread: until then a connection may still be accepted and cut.
        repeat {
            error = await #expect(throws: HTTPTransportError.self) {
                try await client.send(HTTPRequest(url: "http://127.0.0.1:\(port)/"))
            }
        } while error?.code == .connectionClosed
        #expect(error?.code == .cannotConnect)
        #expect(error?.isRetryable == true)
        #expect(error?.host == "127.0.0.1")
        #expect(error?.port == port)
    }

    @Test func unresolvableNameIsReported() async throws {
        let error = await #expect(throws: HTTPTransportError.self) {
            try await HTTPClient().send(HTTPRequest(url: "http://nonexistent.invalid/db?secret"))
        }
        #expect(error?.code == .cannotResolve)
        #expect(error?.description.contains("nonexistent.invalid") == true)
    }

    @Test(arguments: [
        "", "no-scheme/path", "ftp://127.0.0.1/", "file:///etc/passwd", "http://", "http://127.0.0.1:99999/",
        "http://127.0.0.1/a b", "http://127.0.0.1/\r\nX: y", "http://127.0.0.1/\0", "gopher://127.0.0.1/",
    ])
    func badURLIsReported(url: String) async {
        await #expect(throws: HTTPTransportError(.badURL, "")) {
            try await HTTPClient().send(HTTPRequest(url: url))
        }
    }

    @Test(
        arguments: [
            ("GET /x", []), ("", []), ("GET", [("A b", "c")]), ("GET", [("A", "b\r\nC: d")]), ("GET", [("A:", "b")]),
            ("GET", [("", "b")]), ("GET", [("A", "b\0")]),
        ] as [(String, [(String, String)])])
    func requestWithLineBreaksIsRefused(method: String, headers: [(String, String)]) async {
        let request = HTTPRequest(
            method: method, url: "http://127.0.0.1:1/", headers: headers.map { (name: $0.0, value: $0.1) })
        await #expect(throws: HTTPTransportError(.invalidRequest, "")) { try await HTTPClient().send(request) }
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH_9.2\r\n", "<html>no status line</html>\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 abc\r\n\r\n", "HTTP/7.0 200 OK\r\n\r\n", "\0\0\0\u{1}\r\n\r\n",
    ])
    func nonHTTPAnswerIsReported(answer: String) async throws {
        let server = try TestServer { connection in
            _ = try connection.readRequest()
            try connection.write(answer)
        }
        await #expect(throws: HTTPTransportError(.malformedAnswer, "")) {
            try await HTTPClient().send(HTTPRequest(url: server.url()))
        }
    }

    @Test(arguments: ["zz\r\nhello\r\n", "5\r\nhello!!\r\n", "\r\n", "fffffffffffffffffffff\r\n"])
    func brokenChunksAreReported(chunks: String) async throws {
        let server = try TestServer { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)")
            connection.waitForClose()
        }
        await #expect(throws: HTTPTransportError(.malformedAnswer, "")) {
            try await HTTPClient().send(HTTPRequest(url: server.url())).body.collect(upTo: 1000)
        }
    }

    @Test(arguments: [
        "", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", "HTTP/1.1 200 OK", "HTTP/1.1 100 Continue\r\n\r\n",
    ])
    func connectionCutBeforeBodyIsReported(answer: String) async throws {
        let server = try TestServer { connection in
            _ = try connection.readRequest()
            try connection.write(answer)
        }
        await #expect(throws: HTTPTransportError(.connectionClosed, "")) {
            try await HTTPClient().send(HTTPRequest(url: server.url()))
        }
    }

    @Test(arguments: [true, false])
    func endlessHeadIsRefused(oneLine: Bool) async throws {
        let server = try TestServer { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\n")
            while true { try connection.write(String(repeating: "X: y", count: 250) + (oneLine ? "" : "\r\n")) }
        }
        let error = await #expect(throws: HTTPTransportError(.tooLarge, "")) {
            try await HTTPClient().send(HTTPRequest(url: server.url()))
        }
        // libcurl calls one of the two "Out of memory", the other "Failed writing header".
        #expect(error?.message.contains("header of the answer is too long") == true, "\(error?.message ?? "")")
        await server.closed.wait(for: 1)
    }

    /// libcurl reports "Out of memory" for each of them.
    @Test(arguments: ["URL", "header", "credentials"])
    func requestTooLongForLibcurlIsReported(part: String) async throws {
        let long = String(repeating: "x", count: part == "URL" ? 9 << 20 : 2 << 20)
        var request = HTTPRequest(url: "http://127.0.0.1:1/")
        switch part {
        case "URL": request.url += long
        case "header": request.headers = [(name: "Cookie", value: long)]
        default: request.credentials = .bearer(token: long)
        }
        let error = await #expect(throws: HTTPTransportError(.invalidRequest, "")) {
            try await HTTPClient().send(request)
        }
        #expect(error?.message.contains("its \(part) is too long") == true, "\(error?.message ?? "")")
    }

    @Test func longestAcceptedRequestCanBeSent() async throws {
        let server = try TestServer { connection in
            let head = try connection.readHead()
            try connection.answer(body: "\(head?.utf8.count ?? 0)")
        }
        let request = HTTPRequest(url: server.url() + String(repeating: "x", count: 1_020_000))
        let body = try await HTTPClient().send(request).body.collect(upTo: 100)
        #expect(Int(String(decoding: body, as: UTF8.self)) ?? 0 > 1_020_000)
    }

    @Test func errorsAreEqualByCode() {
        #expect(HTTPTransportError(.cancelled, "a") == HTTPTransportError(.cancelled, "b"))
        #expect(HTTPTransportError(.timedOut(.idle), "") != HTTPTransportError(.timedOut(.connect), ""))
        #expect(HTTPTransportError(.tlsFailed(.wrongHost), "").code.tlsProblem == .wrongHost)
        #expect(HTTPTransportError(.cannotConnect, "refused", host: "::1", port: 5).description == "[::1]:5: refused")
    }
}
