import Foundation
import TestKit
import Testing

@Suite(.limitedParallelism) struct RequestLogTests {
    /// A server that refuses the first requests, then simulates an empty database.
    private static func server(refusals: Int = 0) throws -> TestServer {
        let asked = EventCounter()
        return try TestServer { connection in
            try connection.serve { request in
                asked.increment()
                let headers = ["Content-Type: application/json", "Server: Couchbase Sync Gateway/4.1.1 CE"]
                if asked.count <= refusals { return try connection.answer(503, headers: headers) }
                if request.target.contains("_local/") {
                    return try connection.answer(403, headers: headers, body: #"{"error":"forbidden","reason":"no"}"#)
                }
                let isFeed = request.target.hasPrefix("/todo/_changes")
                let feed = #"{"results":[],"last_seq":"7"}"#
                let database = #"{"db_name":"todo","update_seq":7,"state":"Online"}"#
                try connection.answer(headers: headers, body: isFeed ? feed : database)
            }
        }
    }

    private func log(of server: TestServer, _ more: String...) async throws -> String {
        try await Program.withDirectory { state in
            let command = ["run", "--once", "--gateway", server.url("/todo"), "--rules", Program.pictureRules]
            let environment = ["CHANGEBOT_USER": "amy", "CHANGEBOT_PASSWORD": "hunter22"]
            return try await Program.run(command + ["--state", state] + more, environment: environment).errors
        }
    }

    @Test func debugNamesEachRequest() async throws {
        let server = try Self.server()
        let log = try await log(of: server, "--log-level", "debug", "--log-format", "json")
        let lines = log.split(separator: "\n").filter { $0.contains(#""message":"request""#) }
        #expect(lines.count >= 3, "\(log)")
        let feed = try #require(lines.first { $0.contains("/todo/_changes?since=0") }, "\(log)")
        for part in [#""method":"GET""#, "include_docs=true", "200", "bytes_in", "29", "seconds"] {
            #expect(feed.contains(part), "\(feed)")
        }
        #expect(!log.contains("hunter22") && !log.contains("aHVudGVyMjI"))
    }

    @Test func requestsAreLoggedOnlyAtDebug() async throws {
        let log = try await log(of: try Self.server())
        #expect(!log.contains("_changes"), "\(log)")
        #expect(log.contains("caught up"), "\(log)")
        #expect(!log.contains("reached the gateway again"), "\(log)")
    }

    /// Regression: a sign-in page in place of the gateway caused a warning, then a message that the gateway was back,
    /// every few seconds.
    @Test func htmlPageInsteadOfTheGatewayIsOneWarning() async throws {
        let requests = EventCounter()
        let server = try TestServer { connection in
            try connection.serve { request in
                let headers = ["Content-Type: application/json", "Server: Couchbase Sync Gateway/4.1.1 CE"]
                if request.target.contains("feed=longpoll") { requests.increment() }
                if requests.count > 0 {
                    requests.increment()
                    return try connection.answer(headers: ["Content-Type: text/html"], body: "<html>sign in</html>")
                }
                if request.target.contains("_local/") {
                    return try connection.answer(403, headers: headers, body: #"{"error":"forbidden","reason":"no"}"#)
                }
                let isFeed = request.target.hasPrefix("/todo/_changes")
                let database = #"{"db_name":"todo","update_seq":7,"state":"Online"}"#
                try connection.answer(headers: headers, body: isFeed ? #"{"results":[],"last_seq":"7"}"# : database)
            }
        }
        try await Program.withDirectory { folder in
            let errors = folder + "/errors"
            let bot = try ChildProcess(
                [
                    Program.path, "run", "--gateway", server.url("/todo"), "--rules", Program.pictureRules, "--state",
                    folder + "/state",
                ], errors: errors)
            await requests.wait(for: 12)
            #expect(await bot.stop() == 0)
            let log = try String(contentsOfFile: errors, encoding: .utf8)
            #expect(log.split(separator: "\n").count { $0.contains(" warning ") } == 1, "\(log)")
            #expect(!log.contains("reached the gateway again"), "\(log)")
        }
    }

    @Test func delayedFirstContactIsLogged() async throws {
        let log = try await log(of: try Self.server(refusals: 2))
        #expect(log.split(separator: "\n").count { $0.contains("reached the gateway again after") } == 1, "\(log)")
    }
}
