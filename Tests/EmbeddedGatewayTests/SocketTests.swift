import Foundation
import HTTPServing
import TestKit
import Testing

@testable import EmbeddedGateway

/// Behaviour that only a socket shows.
@Suite(.limitedParallelism) struct SocketTests {
    private func withGateway(
        _ body: (EmbeddedGateway, EmbeddedGateway.Address) async throws -> Void
    ) async throws {
        let gateway = EmbeddedGateway(.init(logger: .quiet))
        try await gateway.whileServing { address in try await body(gateway, address) }
    }

    private static func put(_ id: String) -> String {
        "PUT /todo/\(id) HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"a\":1}"
    }

    @Test func addressNamesTheBoundPort() async throws {
        try await withGateway { _, address in
            #expect(address.port > 0)
            #expect(address.url == "http://127.0.0.1:\(address.port)/todo")
        }
    }

    @Test func databaseWithoutASlashRedirects() async throws {
        try await withGateway { _, address in
            try await RawConnection.with(port: address.port) { connection in
                try await connection.get("/todo")
                let (head, body) = try await connection.readAnswer()
                #expect(head.hasPrefix("HTTP/1.1 301 Moved Permanently\r\n"))
                #expect(head.contains("\r\nLocation: /todo/\r\n"))
                #expect(head.contains("\r\nServer: Couchbase Sync Gateway/4.1.1"))
                #expect(body == "<a href=\"/todo/\">Moved Permanently</a>.\n\n")
            }
        }
    }

    @Test func requestsMayBePipelined() async throws {
        try await withGateway { _, address in
            try await RawConnection.with(port: address.port) { connection in
                try await connection.send(Self.put("a") + Self.put("b") + "HEAD /todo/a HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try await connection.readAnswer().body.contains(#""id":"a""#))
                #expect(try await connection.readAnswer().body.contains(#""id":"b""#))
                #expect(try await connection.read(through: "\r\n\r\n").contains("Etag: \"1-36de1e"))
                try await connection.get("/todo/_changes?since=1")
                #expect(try await connection.readAnswer().body.hasSuffix("\"last_seq\":\"3\"}\n"))
            }
        }
    }

    @Test func longpollBeginsAtOnceAndEndsWithTheChange() async throws {
        try await withGateway { _, address in
            try await RawConnection.with(port: address.port) { feed in
                try await feed.get("/todo/_changes?feed=longpoll&since=1&include_docs=true")
                _ = try await feed.read(through: "{\"results\":[\r\n")
                try await RawConnection.with(port: address.port) { writer in
                    try await writer.send(Self.put("a"))
                    _ = try await writer.readAnswer()
                }
                let rest = try await feed.read(through: "0\r\n\r\n")
                #expect(rest.contains(#"{"seq":2,"id":"a","doc":{"a":1,"_id":"a","_rev":"1-36de"#))
                #expect(rest.contains("],\n\"last_seq\":\"2\"}\n"))
                try await feed.get("/")
                #expect(try await feed.readAnswer().body.hasPrefix(#"{"couchdb":"Welcome""#))
            }
        }
    }

    @Test func continuousFeedContinues() async throws {
        try await withGateway { _, address in
            try await RawConnection.with(port: address.port) { feed in
                try await feed.get("/todo/_changes?feed=continuous")
                let opening = try await feed.read(through: "\"_user/GUEST\",\"changes\":[]}\n")
                #expect(opening.contains("Content-Type: application/octet-stream"))
                for id in ["a", "b"] {
                    try await RawConnection.with(port: address.port) { writer in
                        try await writer.send(Self.put(id))
                        _ = try await writer.readAnswer()
                    }
                    _ = try await feed.read(through: "\"id\":\"\(id)\",\"changes\":[{\"rev\":\"1-36")
                }
            }
        }
    }

    @Test func disconnectingClientEndsItsLongpoll() async throws {
        try await withGateway { gateway, address in
            let signal = try #require(gateway.signal)
            try await RawConnection.with(port: address.port) { feed in
                try await feed.get("/todo/_changes?feed=longpoll&since=9")
                _ = try await feed.read(through: "{\"results\":[\r\n")
                while signal.waitingCount == 0 { await Task.yield() }
            }
            while signal.waitingCount > 0 { await Task.yield() }
        }
    }

    @Test func stoppingCutsOpenLongpolls() async throws {
        try await withGateway { gateway, address in
            try await RawConnection.with(port: address.port) { feed in
                try await feed.get("/todo/_changes?feed=longpoll&since=9")
                _ = try await feed.read(through: "{\"results\":[\r\n")
                await gateway.stop()
                let rest = try await feed.readToEnd()
                #expect(!rest.contains("last_seq") && !rest.contains("0\r\n\r\n"))
            }
        }
    }

    @Test func stoppedGatewayRestartsWithItsFile() async throws {
        try await withTemporaryFile { path in
            let gateway = EmbeddedGateway(.init(storage: .file(path), logger: .quiet))
            for count in 1...3 {
                let address = try await gateway.start()
                try await RawConnection.with(port: address.port) { connection in
                    try await connection.send(Self.put("doc-\(count)"))
                    #expect(try await connection.readAnswer().head.hasPrefix("HTTP/1.1 201 Created"))
                    try await connection.get("/todo/")
                    #expect(try await connection.readAnswer().body.contains("\"update_seq\":\(count + 1),"))
                }
                await gateway.stop()
                let folder = URL(filePath: path).deletingLastPathComponent().path
                let files = try FileManager.default.contentsOfDirectory(atPath: folder)
                #expect(Set(files) == ["gateway.sqlite", "gateway.sqlite-lock"])
            }
        }
    }

    @Test func manyGatewaysRunInOneProcess() async throws {
        let gateways = (0..<8).map { _ in EmbeddedGateway(.init(logger: .quiet)) }
        var ports: Set<Int> = []
        for gateway in gateways { ports.insert(try await gateway.start().port) }
        #expect(ports.count == 8)
        for gateway in gateways { await gateway.stop() }
    }

    @Test func portInUseIsNamed() async throws {
        try await withGateway { _, address in
            let second = EmbeddedGateway(.init(port: address.port, logger: .quiet))
            let error = await #expect(throws: EmbeddedGatewayError.self) { try await second.start() }
            #expect(error?.code == .cannotListen)
            let message = try #require(error?.description)
            #expect(message.hasPrefix("can't listen on 127.0.0.1:\(address.port): "))
            #expect(
                message.contains(" (process \(getpid())) listens there; stop it, or choose another port"), "\(message)")
        }
    }

    @Test(arguments: [
        ("192.0.2.1", "can't listen on 192.0.2.1:0: this is not an address of this machine; write 127.0.0.1"),
        ("2001:db8::1", "can't listen on [2001:db8::1]:0: "),
        ("no such host", "can't listen on no such host:0: the host"),
    ])
    func foreignAddressIsNamed(host: String, beginning: String) async throws {
        let gateway = EmbeddedGateway(.init(host: host, logger: .quiet))
        let error = await #expect(throws: EmbeddedGatewayError.self) { try await gateway.start() }
        #expect(error?.code == .cannotListen)
        #expect(error?.description.hasPrefix(beginning) == true, "\(error?.description ?? "")")
    }

    @Test(
        arguments: [
            (
                "/nowhere/at/all/gateway.sqlite", .cannotOpenFile,
                "there is no folder /nowhere/at/all; create it, or correct the path"
            ),
            ("/etc/passwd", .foreignFile, "it is not an SQLite database; correct the path"),
            ("/tmp", .foreignFile, "it is a folder"),
        ] as [(String, EmbeddedGatewayError.Code, String)])
    func invalidDatabaseFileIsNamed(path: String, code: EmbeddedGatewayError.Code, reason: String) async throws {
        let gateway = EmbeddedGateway(.init(storage: .file(path), logger: .quiet))
        let error = await #expect(throws: EmbeddedGatewayError.self) { try await gateway.start() }
        #expect(error?.code == code)
        #expect(error?.description == "can't open the database file \(path): \(reason)")
    }

    @Test func fileIsOpenInOnlyOneGateway() async throws {
        try await withTemporaryFile { path in
            let first = EmbeddedGateway(.init(storage: .file(path), logger: .quiet))
            _ = try await first.start()
            let second = EmbeddedGateway(.init(storage: .file(path), logger: .quiet))
            let error = await #expect(throws: EmbeddedGatewayError.self) { try await second.start() }
            #expect(error?.code == .fileInUse)
            #expect(
                error?.description.hasPrefix("can't open the database file \(path): another gateway has it open")
                    == true)
            await first.stop()
            _ = try await second.start()
            await second.stop()
        }
    }

    @Test(arguments: [
        "", "Todo", "1todo", "_todo", "to/do", "to.do", "to do", "tödo", String(repeating: "a", count: 129),
    ])
    func invalidDatabaseNameIsRefused(name: String) async throws {
        let gateway = EmbeddedGateway(.init(database: name, logger: .quiet))
        let error = await #expect(throws: EmbeddedGatewayError.self) { try await gateway.start() }
        #expect(error?.code == .invalidName)
    }

    @Test func usersMustLogIn() async throws {
        let file = #"{"databases":{"todo":{"users":{"a":{"password":"secret","admin_channels":["*"]}}}}}"#
        var configuration = EmbeddedGateway.Configuration(logger: .quiet)
        configuration.users = try EmbeddedGateway.Users.parse(Array(file.utf8), database: "todo")
        let gateway = EmbeddedGateway(configuration)
        let address = try await gateway.start()
        try await RawConnection.with(port: address.port) { connection in
            try await connection.get("/todo/")
            #expect(try await connection.readAnswer().head.hasPrefix("HTTP/1.1 401 Unauthorized"))
            try await connection.send(
                "GET /todo/ HTTP/1.1\r\nHost: x\r\nAuthorization: Basic YTpzZWNyZXQ=\r\nAccept-Encoding: gzip\r\n\r\n")
            #expect(try await connection.read(through: "\r\n\r\n").contains("\r\nContent-Encoding: gzip\r\n"))
        }
        await gateway.stop()
    }

    @Test(arguments: ["GARBAGE\r\n\r\n", "GET / HTTP/1.1\r\nX: \(String(repeating: "x", count: 100_000))\r\n\r\n"])
    func invalidHTTPIsRefused(text: String) async throws {
        try await withGateway { _, address in
            try await RawConnection.with(port: address.port) { connection in
                try await connection.send(text)
                #expect(try await connection.read(through: "\r\n\r\n").hasPrefix("HTTP/1.1 4"))
            }
        }
    }

    @Test func tooLongBodyIsRefusedBeforeItIsRead() async throws {
        try await withGateway { _, address in
            try await RawConnection.with(port: address.port) { connection in
                let length = Router.bodyLimit + 1
                try await connection.send("PUT /todo/a HTTP/1.1\r\nHost: x\r\nContent-Length: \(length)\r\n\r\n")
                #expect(try await connection.readAnswer().head.hasPrefix("HTTP/1.1 413"))
            }
        }
    }
}
