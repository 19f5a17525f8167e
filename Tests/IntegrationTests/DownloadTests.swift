import BotState
import Bots
import Delivery
import DocumentFlow
import Fleet
import Foundation
import GatewayClient
import Locking
import LosslessJSON
import Rules
import TestKit
import Testing

/// Bots whose rules attach downloads.
@Suite(.limitedParallelism) struct DownloadTests {
    /// A server of pictures, which records its requests.
    private final class Pictures: Sendable {
        private let seen: Locked<[TestRequest]>
        let server: TestServer

        /// - Parameter script: Gets the request, and the number of earlier requests for this path.
        init(_ script: @escaping @Sendable (TestConnection, TestRequest, Int) throws -> Void) throws {
            let seen = Locked<[TestRequest]>([])
            self.seen = seen
            server = try TestServer { connection in
                try connection.serve { request in
                    let number = seen.withLock { requests in
                        defer { requests.append(request) }
                        return requests.count { $0.target == request.target }
                    }
                    try script(connection, request, number)
                }
            }
        }

        func requests(_ path: String) -> [TestRequest] { seen.withLock { $0.filter { $0.target == path } } }

        func rules(_ bed: BotTestBed, _ keys: String = "", when: String = "type: task") throws -> String {
            """
            version: 1
            rules:
              - name: picture
                when: { \(when) }
                then:
                  - attach: { name: image, url: "\(server.url(""))", path: { jq: .path }, \(keys) }
            """
        }
    }

    private static let png = ["Content-Type: image/png"]

    /// Makes retries come soon.
    private static func withFastRetries(_ settings: inout BotSettings) {
        settings.delivery.outside.backoff.base = .milliseconds(5)
        settings.delivery.outside.backoff.cap = .milliseconds(50)
    }

    private static func document(_ id: String, _ path: String) -> (DocumentID, String) {
        (DocumentID(id), #"{"_id":"\#(id)","type":"task","path":"\#(path)"}"#)
    }

    private func attachment(_ bed: BotTestBed, _ id: DocumentID) async throws -> JSONValue? {
        guard case .found(_, let document)? = try await bed.phone.allDocs(keys: [id]).first else { return nil }
        return document.root["_attachments"]?["image"]
    }

    /// - Returns: The previous revision.
    @discardableResult
    private func edit(_ bed: BotTestBed, _ id: DocumentID) async throws -> String {
        guard case .found(let revision, let document)? = try await bed.phone.allDocs(keys: [id]).first else {
            Issue.record("not there")
            return ""
        }
        let edited = try document.setting(JSONPointer("/note"), to: Array("1".utf8))
        let outcomes = try await bed.phone.bulkDocs([BulkDocument(id: id, segments: [edited.bytes])])
        #expect(outcomes.count == 1)
        return revision.text
    }

    private func deadLetters(_ bed: BotTestBed, _ rules: String) throws -> [DeadLetter] {
        let ledger = try bed.ledger(try bed.rules(rules))
        defer { ledger.close() }
        return try ledger.deadLetters()
    }

    @Test func pictureIsAttachedAndConfirmedAfterARestart() async throws {
        try await BotTestBed.with(countsRevisions: true) { bed in
            let pictures = try Pictures { connection, request, _ in
                if request.values(of: "If-None-Match") == ["\"v1\""] { return try connection.answer(304) }
                try connection.answer(headers: Self.png + ["ETag: \"v1\""], body: "picture")
            }
            let rules = try bed.rules(try pictures.rules(bed))
            try await bed.load([Self.document("a", "/a.png"), Self.document("b", "/a.png")])
            let first = try await bed.runOnce(rules)
            #expect(first.written == 2)
            #expect(pictures.requests("/a.png").count == 1)
            #expect(pictures.requests("/a.png").first?.values(of: "Accept") == ["image/*"])
            let stub = try #require(try await attachment(bed, "a"))
            #expect(stub["length"]?.integer == 7)
            #expect(stub["content_type"]?.string == "image/png")
            // In another process, after the document has changed.
            #expect(try await edit(bed, "a").hasPrefix("2-"))
            let second = try await bed.runOnce(rules)
            #expect(second.written == 0)
            #expect(second.unchanged == 1)
            #expect(pictures.requests("/a.png").count == 2)
            #expect(pictures.requests("/a.png").last?.values(of: "If-None-Match") == ["\"v1\""])
        }
    }

    /// A content is the client's own, so another client asks for it itself.
    @Test func renewedTokenDownloads() async throws {
        try await BotTestBed.with { bed in
            try "s3cret\n".write(toFile: bed.directory + "/secret", atomically: true, encoding: .utf8)
            let tokens = try TestReceiver { _, number in
                number == 0
                    ? .answer(503)
                    : .answer(
                        200, headers: ["Content-Type: application/json"],
                        body: #"{"access_token":"t\#(number)","expires_in":3600}"#)
            }
            let pictures = try Pictures { connection, request, _ in
                // The first token has been revoked.
                guard request.values(of: "Authorization") == ["Bearer t2"] else { return try connection.answer(401) }
                try connection.answer(headers: Self.png, body: "picture")
            }
            let rules = try pictures.rules(
                bed, "token_url: '\(tokens.server.url("/token"))', client_id: bot, client_secret_file: secret")
            try await bed.load((0..<20).map { Self.document("d\($0)", "/\($0).png") })
            let counters = try await bed.runOnce(try bed.rules(rules), configure: Self.withFastRetries)
            #expect(counters.written == 20)
            #expect(try deadLetters(bed, rules).isEmpty)
            #expect(tokens.requests.count == 3)
        }
    }

    @Test func refusedTokensDelayDownloads() async throws {
        try await BotTestBed.with { bed in
            try "s3cret\n".write(toFile: bed.directory + "/secret", atomically: true, encoding: .utf8)
            let tokens = try TestReceiver { _, _ in .answer(401, body: #"{"error":"invalid_client"}"#) }
            let pictures = try Pictures { connection, _, _ in
                try connection.answer(headers: Self.png, body: "picture")
            }
            let rules = try pictures.rules(
                bed, "token_url: '\(tokens.server.url("/token"))', client_id: bot, client_secret_file: secret")
            try await bed.load([Self.document("a", "/a.png")])
            let error = await #expect(throws: RunError.self) {
                try await bed.runOnce(try bed.rules(rules)) { settings in
                    Self.withFastRetries(&settings)
                    settings.delivery.retries.retryFor = .milliseconds(300)
                }
            }
            #expect(error?.description.contains("check client_id and the client secret") == true)
            #expect(pictures.requests("/a.png").isEmpty)
            #expect(try deadLetters(bed, rules).isEmpty)
        }
    }

    @Test(arguments: ["ETag: \"a\u{1}b\"", "Last-Modified: \u{7}", "ETag: " + String(repeating: "a", count: 60_000)])
    func unusableValidatorIsForgotten(header: String) async throws {
        try await BotTestBed.with { bed in
            let pictures = try Pictures { connection, _, _ in
                try connection.answer(headers: Self.png + [header], body: "picture")
            }
            let rules = try bed.rules(try pictures.rules(bed))
            try await bed.load([Self.document("a", "/a.png")])
            _ = try await bed.runOnce(rules)
            try await edit(bed, "a")
            let second = try await bed.runOnce(rules)
            #expect(second.deadLetters == 0)
            #expect(pictures.requests("/a.png").last?.values(of: "If-None-Match") == [])
        }
    }

    @Test func busyServerIsRetriedAndOtherDocumentsContinue() async throws {
        try await BotTestBed.with { bed in
            let pictures = try Pictures { connection, request, number in
                if request.target == "/late", number < 2 {
                    return try connection.answer(503, headers: ["Retry-After: 1"])
                }
                try connection.answer(headers: Self.png, body: "picture")
            }
            let rules = try bed.rules(try pictures.rules(bed))
            try await bed.load([Self.document("late", "/late"), Self.document("other", "/other")])
            let counters = try await bed.runOnce(rules)
            #expect(counters.written == 2)
            #expect(counters.deadLetters == 0)
            #expect(pictures.requests("/late").count == 3)
        }
    }

    @Test(arguments: [
        ("/gone", "answered HTTP 404: there is no such content"),
        ("/moved", "answered HTTP 302, a redirect; redirects are not followed: set 'url' to the new address"),
        ("/secret", "answered HTTP 403: check 'token_file', and the token's permissions"),
        ("/html", "sent text/html instead of image/*; correct the URL, or add the type to 'types'"),
        ("/untyped", "sent content without a type instead of image/*"),
        ("/huge", "sent more than 1024 bytes; raise 'max_size' (up to 20MB), or reduce the content"),
        ("/endless", "sent more than 1024 bytes; raise 'max_size'"),
        ("/empty", "sent empty content"), ("/packed", "sent compressed content, which was not requested"),
        ("/teapot", "answered HTTP 204 instead of content"), ("/garbage", "is unusable: "),
    ])
    func unusableDownloadIsADeadLetter(path: String, reason: String) async throws {
        try await BotTestBed.with { bed in
            let pictures = try Pictures { connection, request, _ in
                switch request.target {
                case "/gone": try connection.answer(404)
                case "/moved":
                    try connection.answer(302, headers: ["Location: http://169.254.169.254/latest/meta-data/"])
                case "/secret": try connection.answer(403)
                case "/html": try connection.answer(headers: ["Content-Type: text/html"], body: "<p>")
                case "/untyped": try connection.answer(body: "picture")
                case "/huge":
                    try connection.write(
                        "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 5368709120\r\n\r\n")
                    connection.waitForClose()
                case "/endless":
                    try connection.write("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n")
                    while true { try connection.write([UInt8](repeating: 0, count: 64 << 10)) }
                case "/empty": try connection.answer(headers: Self.png)
                case "/packed": try connection.answer(headers: Self.png + ["Content-Encoding: gzip"], body: "x")
                case "/teapot": try connection.answer(204)
                case "/garbage": try connection.write("no HTTP\r\n\r\n")
                default: try connection.answer(headers: Self.png, body: "picture")
                }
            }
            let rules = try pictures.rules(bed, "max_size: 1KB")
            try await bed.load([Self.document("bad", path), Self.document("good", "/good")])
            let counters = try await bed.runOnce(try bed.rules(rules))
            #expect(counters.written == 1)
            let letters = try deadLetters(bed, rules)
            #expect(letters.map(\.id) == ["bad"])
            #expect(letters.first?.rule == "picture")
            #expect(letters.first?.reason.contains(reason) == true, "\(letters.first?.reason ?? "")")
            #expect(try await attachment(bed, "good") != nil)
        }
    }

    @Test func linkLocalAddressIsRefused() async throws {
        try await BotTestBed.with { bed in
            let rules = """
                version: 1
                rules:
                  - name: picture
                    when: { type: task }
                    then: [{ attach: { name: image, url: "http://169.254.169.254/latest/meta-data/", types: ["*/*"] } }]
                """
            try await bed.load([Self.document("a", "/")])
            try await bed.runOnce(try bed.rules(rules))
            let letters = try deadLetters(bed, rules)
            #expect(letters.count == 1)
            let refusal = "has a link-local address, which is refused because cloud providers"
            #expect(letters.first?.reason.contains(refusal) == true)
        }
    }

    @Test func hangingDownloadIsRetried() async throws {
        try await BotTestBed.with { bed in
            let pictures = try Pictures { connection, request, number in
                if number > 0 { return try connection.answer(headers: Self.png, body: "picture") }
                try connection.write("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 7\r\n\r\npic")
                connection.waitForClose()
            }
            try await bed.load([Self.document("a", "/a")])
            let rules = try bed.rules(try pictures.rules(bed, "timeout: 200ms"))
            let counters = try await bed.runOnce(rules, configure: Self.withFastRetries)
            #expect(counters.written == 1)
            #expect(pictures.requests("/a").count == 2)
        }
    }

    @Test func contentThatFailsWhileOthersSucceedIsADeadLetter() async throws {
        try await BotTestBed.with { bed in
            // Serves the other pictures once the bad one has failed.
            let bad = EventCounter()
            let pictures = try Pictures { connection, request, _ in
                guard request.target == "/bad" else {
                    bad.block(until: 1)
                    return try connection.answer(headers: Self.png + ["Cache-Control: no-store"], body: "picture")
                }
                try connection.answer(500)
                bad.increment()
            }
            let rules = try pictures.rules(bed)
            try await bed.load([Self.document("bad", "/bad")] + (0..<5).map { Self.document("g\($0)", "/g\($0)") })
            let counters = try await bed.runOnce(try bed.rules(rules), configure: Self.withFastRetries)
            #expect(counters.written == 5)
            #expect(bad.count == 8)
            let letters = try deadLetters(bed, rules)
            #expect(letters.map(\.id) == ["bad"])
            #expect(letters.first?.reason.contains("times while the server serves other requests; last error:") == true)
        }
    }

    @Test func oneShotRunGivesUpOnAServerThatIsDown() async throws {
        try await BotTestBed.with { bed in
            let port = try TestServer { _ in }.port
            let rules = """
                version: 1
                rules: [{ name: p, when: { type: task }, then: [{ attach: { name: image, url: "http://127.0.0.1:\(port)/a" } }] }]
                """
            try await bed.load([Self.document("a", "/a")])
            let error = await #expect(throws: RunError.self) {
                try await bed.runOnce(try bed.rules(rules)) { settings in
                    Self.withFastRetries(&settings)
                    settings.delivery.retries.retryFor = .milliseconds(100)
                }
            }
            #expect(error?.code == .gaveUp)
            #expect(try deadLetters(bed, rules).isEmpty)
        }
    }

    @Test func dryRunDownloadsAndWritesNothing() async throws {
        try await BotTestBed.with { bed in
            let pictures = try Pictures { connection, _, _ in
                try connection.answer(headers: Self.png, body: "picture")
            }
            try await bed.load([Self.document("a", "/a")])
            let lines = try await bed.preview(try bed.rules(try pictures.rules(bed)))
            #expect(lines.count == 1)
            #expect(lines.first?.contains(#""attachments":["image"]"#) == true)
            #expect(pictures.requests("/a").count == 1)
            #expect(try await attachment(bed, "a") == nil)
        }
    }

    @Test func tokenIsSentAndItsFileIsRequired() async throws {
        try await BotTestBed.with { bed in
            let pictures = try Pictures { connection, request, _ in
                let isKnown = request.values(of: "Authorization") == ["Bearer s3cret"]
                try connection.answer(isKnown ? 200 : 401, headers: Self.png, body: "picture")
            }
            try await bed.load([Self.document("a", "/a")])
            let rules = try bed.rules(try pictures.rules(bed, "token_file: token"))
            let error = await #expect(throws: RunError.self) { try await bed.runOnce(rules) }
            #expect(error?.code == .badConfiguration)
            try Data("s3cret\n".utf8).write(to: URL(filePath: bed.directory + "/token"))
            #expect(try await bed.runOnce(rules).written == 1)
        }
    }

    /// Regression: the documents were decided again and again, endlessly.
    @Test func missingTokenFileDoesNotStopTheRun() async throws {
        try await BotTestBed.with { bed in
            let file = bed.directory + "/token"
            let pictures = try Pictures { connection, request, _ in
                try? FileManager.default.removeItem(atPath: file)
                let isKnown = request.values(of: "Authorization") == ["Bearer s3cret"]
                try connection.answer(isKnown ? 200 : 401, headers: Self.png, body: "picture")
            }
            try Data("s3cret".utf8).write(to: URL(filePath: file))
            try await bed.load((0..<5).map { Self.document("d\($0)", "/\($0)") })
            let rules = try bed.rules(try pictures.rules(bed, "token_file: token"))
            #expect(try await bed.runOnce(rules).written == 5)
        }
    }

    // MARK: - A slow server

    private static let cheeses = """

          - name: cheese
            when: { type: cheese, done: { $exists: false } }
            then: [ { merge: { done: true } } ]
        """

    /// Answers once `mayAnswer` is true.
    private static func pictures(once mayAnswer: Monitor<Bool>) throws -> Pictures {
        try Pictures { connection, _, _ in
            mayAnswer.block { $0 }
            try connection.answer(headers: png, body: "picture")
        }
    }

    /// Regression: each batch, with all its documents, waited for two downloads at a time.
    @Test(arguments: [false, true])
    func slowServerDelaysNoOtherChanges(hasLog: Bool) async throws {
        let mayAnswer = Monitor(false)
        let pictures = try Self.pictures(once: mayAnswer)
        try await BotTestBed.with { bed in
            defer { mayAnswer.with { $0 = true } }
            let rules = try bed.rules(try pictures.rules(bed, "timeout: 5m") + Self.cheeses)
            let slow = (0..<600).map { Self.document("t\($0)", "/\($0)") }
            let cheeses = (0..<50).map { (DocumentID("c\($0)"), #"{"_id":"c\#($0)","type":"cheese"}"#) }
            try await bed.load(slow + cheeses)
            let log = MemoryEngine(partitions: 2)
            let counters = try await bed.following(rules, configure: { if hasLog { $0.share(log) } }) {
                try await bed.wait(until: cheeses.map(\.0)) { $0["done"]?.bool == true }
                mayAnswer.with { $0 = true }
                try await bed.wait(until: slow.map(\.0)) { $0["_attachments"] != nil }
            }
            #expect(counters.deadLetters == 0)
            // Nothing was downloaded unnecessarily.
            for (index, _) in slow.enumerated() { #expect(pictures.requests("/\(index)").count == 1) }
        }
    }

    @Test func contentNeededByManyIsDownloadedOnce() async throws {
        let mayAnswer = Monitor(false)
        let pictures = try Self.pictures(once: mayAnswer)
        try await BotTestBed.with { bed in
            defer { mayAnswer.with { $0 = true } }
            let rules = try bed.rules(try pictures.rules(bed, "timeout: 5m") + Self.cheeses)
            let slow = (0..<60).map { Self.document("t\($0)", $0 < 10 ? "/\($0)" : "/shared") }
            try await bed.following(rules) {
                try await bed.load(slow)
                try await bed.load([("c", #"{"_id":"c","type":"cheese"}"#)])
                try await bed.wait(until: "c") { $0["done"]?.bool == true }
                mayAnswer.with { $0 = true }
                try await bed.wait(until: slow.map(\.0)) { $0["_attachments"] != nil }
            }
            #expect(pictures.requests("/shared").count == 1)
        }
    }

    /// A document that needs several contents gets all of them, even if none may be cached.
    @Test(arguments: [("no-store", 1), ("no-cache", 1), ("max-age=600", 1), ("max-age=600", 13 << 20)])
    func documentGetsSeveralContentsOfASlowServer(control: String, length: Int) async throws {
        let body = String(repeating: "p", count: length)
        let pictures = try Pictures { connection, _, _ in
            // Longer than a batch waits.
            Thread.sleep(forTimeInterval: 1.5)
            try connection.answer(headers: Self.png + ["Cache-Control: \(control)"], body: body)
        }
        try await BotTestBed.with { bed in
            let attach = (0..<3).map { number in
                "{ attach: { name: image\(number), url: \"\(pictures.server.url("/\(number)"))\", max_size: 15MB } }"
            }
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: pictures
                    when: { type: task }
                    then: [ \(attach.joined(separator: ", ")) ]
                """ + Self.cheeses)
            try await bed.load([Self.document("a", "/a"), Self.document("b", "/b")])
            let counters = try await bed.runOnce(rules)
            #expect(counters.written == 2)
            #expect(counters.deadLetters == 0)
        }
    }
}
