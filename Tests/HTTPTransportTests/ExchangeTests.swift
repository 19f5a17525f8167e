import TestKit
import Testing

@testable import HTTPTransport

@Suite(.limitedParallelism) struct ExchangeTests {
    /// Answers with the request's method, target and body.
    private static func echo() throws -> TestServer {
        try TestServer { connection in
            try connection.serve { request in
                try connection.answer(body: "\(request.method) \(request.target) \(request.text)")
            }
        }
    }

    @Test func keptConnectionIsReused() async throws {
        let server = try Self.echo()
        let client = HTTPClient()
        for round in 0..<50 {
            let response = try await client.send(HTTPRequest(url: server.url("/\(round)")))
            #expect(response.status == 200)
            #expect(try await response.text() == "GET /\(round) ")
        }
        #expect(server.accepted.count == 1)
    }

    @Test func manyConcurrentRequestsAreAnswered() async throws {
        let server = try Self.echo()
        let client = HTTPClient()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<400 {
                group.addTask {
                    try await client.send(HTTPRequest(url: server.url("/\(number)"))).text() == "GET /\(number) "
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }

    @Test func connectionsPerHostAreLimited() async throws {
        let server = try Self.echo()
        var configuration = HTTPClientConfiguration()
        configuration.connections.maximumPerHost = 2
        let client = HTTPClient(configuration: configuration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask { _ = try await client.send(HTTPRequest(url: server.url())).text() }
            }
            try await group.waitForAll()
        }
        #expect(server.accepted.count <= 2)
    }

    @Test(arguments: ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "COPY"])
    func methodsAndBodiesArrive(method: String) async throws {
        let server = try Self.echo()
        let client = HTTPClient()
        let bodies: [(HTTPRequestBody, String)] = [
            (.none, ""), (.bytes([]), ""), (.segments([Array("on".utf8), [], Array("e two".utf8)]), "one two"),
        ]
        for (body, text) in bodies {
            let response = try await client.send(HTTPRequest(method: method, url: server.url("/x?y=z"), body: body))
            #expect(try await response.text() == "\(method) /x?y=z \(text)")
        }
        #expect(server.accepted.count == 1)
    }

    @Test func requestHeaderIsSentAsGiven() async throws {
        let server = try TestServer { connection in
            try connection.serve { request in
                let lines = request.headers.map { "\($0.name)=\($0.value)" }
                try connection.answer(body: lines.joined(separator: "\n"))
            }
        }
        var configuration = HTTPClientConfiguration()
        configuration.userAgent = "changebot/1.2.3"
        let client = HTTPClient(configuration: configuration)
        let request = HTTPRequest(
            method: "POST", url: server.url(),
            headers: [("Content-Type", "application/json"), ("X-Empty", ""), ("X-Blank", " "), ("Accept", "a/b")],
            body: .bytes([UInt8](repeating: 0x20, count: 3 << 20)))
        let lines = Set(try await client.send(request).text().split(separator: "\n").map(String.init))
        #expect(
            lines == [
                "host=127.0.0.1:\(server.port)", "user-agent=changebot/1.2.3", "accept=a/b", "x-empty=", "x-blank=",
                "content-type=application/json", "content-length=\(3 << 20)",
            ])
    }

    @Test(arguments: [("POST", "0"), ("PUT", "0"), ("GET", ""), ("DELETE", "")])
    func contentLengthIsSentIfBodyIsExpected(method: String, length: String) async throws {
        let server = try TestServer { connection in
            try connection.serve { request in
                try connection.answer(body: request.values(of: "content-length").joined(separator: "|"))
            }
        }
        let response = try await HTTPClient().send(HTTPRequest(method: method, url: server.url()))
        #expect(try await response.text() == length)
    }

    @Test func segmentsAreSentUnjoined() async throws {
        let pattern = BytePattern()
        let server = try TestServer { connection in
            try connection.serve { request in
                try connection.answer(body: "\(pattern.matches(request.body, at: 0)) \(request.body.count)")
            }
        }
        let client = HTTPClient()
        let whole = pattern.bytes(9_000_001)
        for sizes in [[9_000_001], [1, 4_000_000, 1, 4_999_999], Array(repeating: 1, count: 1) + [9_000_000]] {
            var place = 0
            let segments = sizes.map { size in
                defer { place += size }
                return Array(whole[place..<place + size])
            }
            let request = HTTPRequest(method: "POST", url: server.url(), body: .segments(segments))
            #expect(try await client.send(request).text() == "true 9000001")
        }
        #expect(server.accepted.count == 1)
    }

    @Test func uploadIsRepeatedIfKeptConnectionWasClosed() async throws {
        let served = EventCounter()
        let server = try TestServer { connection in
            // One answer per connection; the connection is closed without an answer to the next request.
            guard let request = try connection.readRequest() else { return }
            try connection.answer(body: request.text)
            served.increment()
            if served.count == 1 { _ = try connection.readHead() }
        }
        let client = HTTPClient()
        #expect(try await client.send(HTTPRequest(url: server.url())).text() == "")
        let body = HTTPRequestBody.segments([Array("again".utf8), Array(" and again".utf8)])
        let response = try await client.send(HTTPRequest(method: "POST", url: server.url(), body: body))
        #expect(try await response.text() == "again and again")
        #expect(server.accepted.count == 2)
    }

    @Test(arguments: [("HEAD", 200, 11), ("GET", 204, 0), ("GET", 304, 11), ("HEAD", 404, 3)])
    func answersWithoutBodyEndImmediately(method: String, status: Int, length: Int) async throws {
        let server = try TestServer { connection in
            try connection.serve { _ in
                let promise = length > 0 ? "Content-Length: \(length)\r\n" : ""
                try connection.write("HTTP/1.1 \(status) Answer\r\nETag: \"1\"\r\n\(promise)\r\n")
            }
        }
        let client = HTTPClient()
        for _ in 0..<3 {
            let response = try await client.send(HTTPRequest(method: method, url: server.url()))
            #expect(response.status == status)
            #expect(response.headers["etag"] == "\"1\"")
            #expect(try await response.body.next() == nil)
            #expect(response.body.received == 0)
        }
        #expect(server.accepted.count == 1)
    }

    @Test func interimAnswersAreSkipped() async throws {
        let server = try TestServer { connection in
            try connection.serve { _ in
                try connection.write("HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\n")
                try connection.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
                try connection.answer(201, headers: ["X-Final: 1"], body: "made")
            }
        }
        let request = HTTPRequest(method: "POST", url: server.url(), body: .bytes(Array("x".utf8)))
        let response = try await HTTPClient().send(request)
        #expect(response.status == 201)
        #expect(response.headers["x-interim"] == nil)
        #expect(response.headers["x-final"] == "1")
        #expect(try await response.text() == "made")
    }

    @Test func smallAnswersWorkOnClientExecutor() async throws {
        let server = try Self.echo()
        let client = HTTPClient()
        try await withTaskExecutorPreference(client.executor) {
            for round in 0..<20 {
                let response = try await client.send(HTTPRequest(url: server.url("/\(round)")))
                #expect(try await response.text() == "GET /\(round) ")
            }
        }
    }
}
