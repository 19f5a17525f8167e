import TestKit
import Testing

@testable import EmbeddedGateway

/// Clients that send invalid, partial, slow or no requests: each gets an answer or is disconnected.
@Suite(.limitedParallelism) struct HostileConnectionTests {
    private func withGateway(_ body: (Int) async throws -> Void) async throws {
        try await EmbeddedGateway(.init(logger: .quiet)).whileServing { address in
            try await body(address.port)
            try await RawConnection.with(port: address.port) { connection in
                try await connection.get("/todo/")
                #expect(try await connection.readAnswer().head.hasPrefix("HTTP/1.1 200 "))
            }
        }
    }

    @Test(arguments: [
        ("", 404), ("/..", 404), ("/%2e%2e", 404), ("/%2E%2E%2Fsecret", 404), ("/../../etc/passwd", 404),
        ("/a/../b", 404), ("//", 404), ("///x", 404), ("/.", 404), ("/%", 400), ("/%4", 400), ("/%zz", 400),
        ("/%00", 400), ("/a%00b", 400), ("/%ff%fe", 400), ("/%c0%ae", 400), ("/_local/..", 404), ("/_local/%2f", 404),
        ("/x/..%2f..", 404), ("/%5f%5fx", 404), ("/_all_docs/x", 404), ("/\u{1}", 400), ("/a\\..\\b", 404),
    ])
    func pathsCannotEscape(path: String, status: Int) async throws {
        try await withGateway { port in
            try await RawConnection.with(port: port) { connection in
                try await connection.get("/todo\(path.isEmpty ? "/x" : path)")
                #expect(try await connection.read(through: "\r\n\r\n").hasPrefix("HTTP/1.1 \(status) "))
            }
        }
    }

    @Test(arguments: ["http://x/todo/_all_docs", "HTTP://x:1/todo/_all_docs", "https://x/todo/_all_docs"])
    func absoluteTargetIsAccepted(target: String) async throws {
        try await withGateway { port in
            try await RawConnection.with(port: port) { connection in
                try await connection.get(target)
                #expect(try await connection.read(through: "\r\n\r\n").hasPrefix("HTTP/1.1 200 "))
            }
        }
    }

    @Test(arguments: [
        "GET /todo/ HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "GET /todo/ HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "PUT /todo/a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\n{}",
        "PUT /todo/a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "PUT /todo/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n",
        "PUT /todo/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        "GET /todo/ HTTP/9.9\r\n\r\n", "GET\r\n\r\n", "GET /todo/ HTTP/1.1\r\nA b\r\n\r\n",
        "GET /todo/ HTTP/1.1\r\nHost: x\r\nX: \u{0}\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{FC}\u{3}\r\n\r\n",
        "GET /todo/\(String(repeating: "a", count: 100_000)) HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /todo/ HTTP/1.1\r\n\(String(repeating: "A: b\r\n", count: 20_000))\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ])
    func invalidRequestIsRefusedAndCloses(text: String) async throws {
        try await withGateway { port in
            try await RawConnection.with(port: port) { connection in
                try await connection.send(text)
                #expect(try await connection.readToEnd().hasPrefix("HTTP/1.1 4"))
            }
        }
    }

    @Test(arguments: [
        "", "G", "GET /todo/ HT", "GET /todo/ HTTP/1.1\r\nHost: x\r\n",
        "PUT /todo/a HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"half\":",
        "PUT /todo/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a",
        "GET /todo/_changes?feed=longpoll&since=99 HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /todo/_changes?feed=continuous HTTP/1.1\r\nHost: x\r\n\r\n",
    ])
    func interruptedRequestWritesNothing(text: String) async throws {
        try await withGateway { port in
            for _ in 0..<3 {
                try await RawConnection.with(port: port) { connection in try await connection.send(text) }
            }
            try await RawConnection.with(port: port) { connection in
                try await connection.get("/todo/a")
                #expect(try await connection.readAnswer().body.contains("missing"))
            }
        }
    }

    @Test func requestMayArriveByteByByte() async throws {
        try await withGateway { port in
            try await RawConnection.with(port: port) { connection in
                let request =
                    "PUT /todo/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"a\":1}"
                for byte in request.unicodeScalars { try await connection.send(String(byte)) }
                #expect(try await connection.readAnswer().head.hasPrefix("HTTP/1.1 201 "))
            }
        }
    }

    @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
        try await withGateway { port in
            try await RawConnection.with(port: port) { connection in
                let request = { (number: Int) in "GET /todo/d\(number) HTTP/1.1\r\nHost: x\r\nX: \(number)\r\n\r\n" }
                try await connection.send((0..<500).map(request).joined() + "GET /todo/ HTTP/1.1\r\nHost: x\r\n\r\n")
                for _ in 0..<500 { #expect(try await connection.readAnswer().head.hasPrefix("HTTP/1.1 404 ")) }
                #expect(try await connection.readAnswer().head.hasPrefix("HTTP/1.1 200 "))
            }
        }
    }
}
