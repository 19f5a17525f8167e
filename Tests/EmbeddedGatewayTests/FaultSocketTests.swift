import TestKit
import Testing

@testable import EmbeddedGateway

/// Faults as seen by a client on a socket.
@Suite(.limitedParallelism) struct FaultSocketTests {
    private func withGateway(
        _ faults: String, _ body: (EmbeddedGateway, Int) async throws -> Void
    ) async throws {
        var configuration = EmbeddedGateway.Configuration(logger: .quiet)
        configuration.faults = try FaultPlan.parse(Array(#"{"faults":[\#(faults)]}"#.utf8))
        let gateway = EmbeddedGateway(configuration)
        try await gateway.whileServing { address in try await body(gateway, address.port) }
    }

    private static let put =
        "PUT /todo/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"a\":1}"

    @Test func statusReplacesTheAnswer() async throws {
        let faults = #"{"on":"document","status":{"code":503,"retry_after":7},"times":1}"#
        try await withGateway(faults) { gateway, port in
            try await RawConnection.with(port: port) { connection in
                try await connection.send(Self.put)
                let (head, body) = try await connection.readAnswer()
                #expect(head.hasPrefix("HTTP/1.1 503 Service Unavailable\r\n"))
                #expect(head.contains("\r\nRetry-After: 7\r\n"))
                #expect(body == #"{"error":"Service Unavailable","reason":"this answer was injected"}"#)
                try await connection.get("/todo/a")
                #expect(try await connection.readAnswer().head.hasPrefix("HTTP/1.1 404"))
            }
            #expect(gateway.faultCounts == ["status": 1])
        }
    }

    @Test func proxyPageReplacesTheAnswer() async throws {
        let faults = #"{"status":{"code":200,"body":"<html>sign in</html>"},"on":"_changes"}"#
        try await withGateway(faults) { _, port in
            try await RawConnection.with(port: port) { connection in
                try await connection.get("/todo/_changes")
                let (head, body) = try await connection.readAnswer()
                #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n"))
                #expect(head.contains("\r\nContent-Type: text/html; charset=utf-8\r\n"))
                #expect(body == "<html>sign in</html>")
            }
        }
    }

    @Test(arguments: ["before", "after"]) func requestIsDropped(when: String) async throws {
        try await withGateway(#"{"drop":"\#(when)","method":"PUT"}"#) { gateway, port in
            try await RawConnection.with(port: port) { connection in
                try await connection.send(Self.put)
                #expect(try await connection.readToEnd().isEmpty)
            }
            try await RawConnection.with(port: port) { connection in
                try await connection.get("/todo/a")
                let status = when == "after" ? "200" : "404"
                #expect(try await connection.readAnswer().head.hasPrefix("HTTP/1.1 \(status)"))
            }
            #expect(gateway.faultCounts == ["drop": 1])
        }
    }

    @Test(arguments: [0, 1, 20, 119, 120]) func answerIsCut(count: Int) async throws {
        try await withGateway(#"{"cut":\#(count),"on":"database"}"#) { _, port in
            let text = try await RawConnection.with(port: port) { connection in
                try await connection.send("GET /todo/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                return try await connection.readToEnd()
            }
            guard count > 0 else { return #expect(text.isEmpty) }
            let parts = text.split(separator: "\r\n\r\n", maxSplits: 1)
            #expect(parts.count == 2 && parts[1].utf8.count == count)
            #expect(text.contains("\r\nContent-Length: 1"))
        }
    }

    @Test func feedIsCutInTheMiddle() async throws {
        try await withGateway(#"{"cut":40,"feed":"longpoll"}"#) { _, port in
            try await RawConnection.with(port: port) { connection in
                try await connection.get("/todo/_changes?feed=longpoll")
                let text = try await connection.readToEnd()
                #expect(text.contains("\r\nTransfer-Encoding: chunked\r\n"))
                #expect(text.contains(#"{"seq":1,"id":"_user/GUE"#) && !text.contains("\r\n0\r\n"))
            }
        }
    }

    @Test func shorterAnswerIsNotCut() async throws {
        try await withGateway(#"{"cut":100000}"#) { _, port in
            try await RawConnection.with(port: port) { connection in
                for _ in 0..<2 {
                    try await connection.get("/todo/")
                    #expect(try await connection.readAnswer().body.hasSuffix("}"))
                }
            }
        }
    }

    @Test func answerIsSentInPieces() async throws {
        try await withGateway(#"{"slice":{"bytes":1,"pause":"0ms"}}"#) { _, port in
            try await RawConnection.with(port: port) { connection in
                try await connection.get("/todo/")
                #expect(try await connection.readAnswer().body.hasSuffix(#""state":"Online"}"#))
                try await connection.get("/todo/_changes?feed=longpoll")
                let text = try await connection.read(through: "0\r\n\r\n")
                #expect(text.contains("\r\n1\r\n{\r\n1\r\n\"\r\n1\r\nr\r\n"))
                try await connection.get("/todo/")
                #expect(try await connection.readAnswer().head.hasPrefix("HTTP/1.1 200"))
            }
        }
    }

    @Test func answerIsDelayed() async throws {
        try await withGateway(#"{"latency":["20ms","30ms"],"on":"database"}"#) { gateway, port in
            try await RawConnection.with(port: port) { connection in
                let begin = ContinuousClock.now
                try await connection.get("/todo/")
                _ = try await connection.readAnswer()
                #expect(ContinuousClock.now - begin >= .milliseconds(20))
            }
            #expect(gateway.faultCounts == ["latency": 1])
        }
    }

    @Test func hangLastsUntilTheClientDisconnects() async throws {
        try await withGateway(#"{"hang":true,"on":"database"}"#) { gateway, port in
            try await RawConnection.with(port: port) { connection in
                try await connection.get("/todo/")
                while gateway.faultCounts["hang"] == 0 { await Task.yield() }
            }
            try await RawConnection.with(port: port) { connection in
                try await connection.get("/todo/a")
                #expect(try await connection.readAnswer().head.hasPrefix("HTTP/1.1 404"))
            }
        }
    }

    @Test(arguments: ["longpoll", "continuous"]) func feedSendsOnlyHeartbeats(kind: String) async throws {
        try await withGateway(#"{"heartbeats_only":"1ms"}"#) { _, port in
            try await RawConnection.with(port: port) { connection in
                try await connection.get("/todo/_changes?feed=\(kind)")
                let beats = try await connection.read(through: "\n\r\n1\r\n\n\r\n1\r\n\n")
                #expect(!beats.contains("GUEST"))
            }
        }
    }

    @Test func databaseIsResetAtATime() async throws {
        try await withGateway(#"{"reset":true,"after":"1ms"},{"offline":"1h","after":"2ms"}"#) { gateway, port in
            while gateway.faultCounts != ["reset": 1, "offline": 1] { await Task.yield() }
            while gateway.router?.faults.isOffline != true { await Task.yield() }
            try await RawConnection.with(port: port) { connection in
                try await connection.get("/todo/")
                #expect(try await connection.readAnswer().body.hasSuffix(#""state":"Offline"}"#))
                gateway.setFaults(nil)
                try await connection.get("/todo/")
                #expect(try await connection.readAnswer().body.hasSuffix(#""state":"Online"}"#))
            }
            #expect(gateway.faultCounts == [:])
        }
    }

    @Test func testCanResetTheDatabase() async throws {
        try await withGateway("") { gateway, port in
            try await RawConnection.with(port: port) { connection in
                try await connection.send(Self.put)
                _ = try await connection.readAnswer()
                try await gateway.reset()
                try await connection.get("/todo/_changes")
                #expect(try await connection.readAnswer().body.hasSuffix("\"last_seq\":\"1\"}\n"))
                gateway.setFaults(try FaultPlan.parse(Array(#"{"faults":[{"name":"down","status":500}]}"#.utf8)))
                try await connection.get("/todo/")
                #expect(try await connection.readAnswer().head.hasPrefix("HTTP/1.1 500"))
                #expect(gateway.faultCounts == ["down": 1])
            }
        }
    }

    @Test func unauthenticatedRequestsDoNotCount() async throws {
        var configuration = EmbeddedGateway.Configuration(logger: .quiet)
        configuration.users = try EmbeddedGateway.Users.parse(
            Array(#"{"databases":{"todo":{}}}"#.utf8), database: "todo")
        configuration.faults = try FaultPlan.parse(Array(#"{"faults":[{"status":500}]}"#.utf8))
        let gateway = EmbeddedGateway(configuration)
        let address = try await gateway.start()
        try await RawConnection.with(port: address.port) { connection in
            try await connection.get("/todo/a")
            #expect(try await connection.readAnswer().head.hasPrefix("HTTP/1.1 401"))
        }
        #expect(gateway.faultCounts == ["status": 0])
        await gateway.stop()
    }
}
