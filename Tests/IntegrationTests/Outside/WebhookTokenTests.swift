import BotState
import Bots
import Delivery
import DocumentFlow
import Foundation
import GatewayClient
import Locking
import LosslessJSON
import Rules
import TestKit
import Testing

/// Webhooks with access tokens that are renewed, with token servers that work or fail.
@Suite(.limitedParallelism) struct WebhookTokenTests {
    private func rules(_ receiver: TestReceiver, _ keys: String) -> String {
        """
        version: 1
        rules:
          - name: tell
            when: { type: order }
            then: [{ webhook: { url: "\(receiver.url)", \(keys) } }]
        """
    }

    private func client(_ server: TestReceiver, _ more: String = "") -> String {
        "token_url: \"\(server.server.url("/token"))\", client_id: bot, client_secret_file: secret\(more)"
    }

    private func orders(_ numbers: Range<Int>) -> [(id: DocumentID, body: String)] {
        numbers.map { (DocumentID("o\($0)"), #"{"_id":"o\#($0)","type":"order"}"#) }
    }

    private func withFastRetries(_ settings: inout BotSettings) {
        settings.delivery.outside.backoff.base = .milliseconds(20)
        settings.delivery.outside.backoff.cap = .milliseconds(200)
    }

    private func withTestBed(_ body: (BotTestBed) async throws -> Void) async throws {
        try await BotTestBed.with { bed in
            try "cl1ent-secret\n".write(toFile: bed.directory + "/secret", atomically: true, encoding: .utf8)
            try await body(bed)
        }
    }

    private func deadLetters(_ bed: BotTestBed, _ rules: RuleSet) throws -> [String] {
        let ledger = try bed.ledger(rules)
        defer { ledger.close() }
        return try ledger.deadLetters().map(\.reason)
    }

    /// The answer with the token `tNUMBER`.
    private static func token(_ number: Int, expiresIn: Int = 3600) -> TestReceiver.Reply {
        .answer(
            200, headers: ["Content-Type: application/json"],
            body: #"{"access_token":"t\#(number)","token_type":"Bearer","expires_in":\#(expiresIn)}"#)
    }

    @Test func allEventsShareOneToken() async throws {
        let (receiver, server) = (try TestReceiver(), try TestReceiver { _, number in Self.token(number) })
        try await withTestBed { bed in
            let rules = try bed.rules(rules(receiver, client(server, ", scope: 'a b'")))
            try await bed.load(orders(0..<100))
            #expect(try await bed.runOnce(rules).outside.accepted == 100)
            #expect(Set(receiver.requests.map { $0.header("authorization") }) == ["Bearer t0"])
            #expect(server.requests.map(\.text) == ["grant_type=client_credentials&scope=a%20b"])
            let login = Data("bot:cl1ent-secret".utf8).base64EncodedString()
            #expect(server.requests.map { $0.header("authorization") } == ["Basic " + login])
        }
    }

    @Test func refusedTokenIsRenewedOnceAndTheEventSentAgain() async throws {
        let receiver = try TestReceiver { request, _ in
            .answer(request.header("authorization") == "Bearer t1" ? 204 : 401)
        }
        let server = try TestReceiver { _, number in Self.token(number) }
        try await withTestBed { bed in
            let rules = try bed.rules(rules(receiver, client(server)))
            try await bed.load(orders(0..<50))
            let counters = try await bed.runOnce(rules)
            #expect(counters.outside.accepted == 50)
            #expect(counters.deadLetters == 0)
            #expect(server.requests.count == 2)
            // At most those that were sent at once had the first token.
            #expect(receiver.requests.count <= 58)
        }
    }

    /// The token server fails at first, in many ways.
    @Test(arguments: [
        TestReceiver.Reply.close, .answer(500), .answer(429, headers: ["Retry-After: 1"]), .answer(503, body: "<html>"),
        .answer(200, headers: ["Content-Type: text/html"], body: "<!DOCTYPE html><p>Sign in"), .answer(404),
        .answer(401, body: #"{"error":"invalid_client"}"#), .answer(302, headers: ["Location: https://other.example/"]),
    ])
    func eventsWaitForTheTokenServer(fault: TestReceiver.Reply) async throws {
        let receiver = try TestReceiver()
        let server = try TestReceiver { _, number in number < 2 ? fault : Self.token(number) }
        try await withTestBed { bed in
            let rules = try bed.rules(rules(receiver, client(server)))
            try await bed.load(orders(0..<30))
            let counters = try await bed.following(rules, configure: withFastRetries) {
                await receiver.wait(for: 30)
            }
            let rest = try await bed.runOnce(rules, configure: withFastRetries)
            #expect(counters.outside.accepted + rest.outside.accepted == 30)
            #expect(counters.deadLetters == 0)
            #expect(try deadLetters(bed, rules).isEmpty)
            // One request at a time, with waits in between. libcurl repeats one by itself after a closed connection.
            #expect((3...4).contains(server.requests.count), "\(server.requests.count)")
            #expect(server.maxConcurrent == 1)
            #expect(Set(receiver.requests.map(\.documentID)).count == 30)
        }
    }

    @Test func slowTokenServerIsAskedOnce() async throws {
        let isOpen = Monitor(false)
        let receiver = try TestReceiver()
        let server = try TestReceiver { _, number in
            isOpen.block { $0 }
            return Self.token(number)
        }
        try await withTestBed { bed in
            defer { isOpen.with { $0 = true } }
            let rules = try bed.rules(
                rules(receiver, client(server))
                    + "\n  - { name: stamp, when: { type: note, stamped: { $exists: false } }, then: [merge: { stamped: true }] }"
            )
            try await bed.load(orders(0..<30) + [("n", #"{"_id":"n","type":"note"}"#)])
            try await bed.following(rules) {
                await server.wait(for: 1)
                // Other documents do not wait for the token.
                try await bed.wait(until: "n") { $0["stamped"]?.bool == true }
                #expect(server.requests.count == 1 && receiver.requests.isEmpty)
                isOpen.with { $0 = true }
                await receiver.wait(for: 30)
            }
            #expect(server.requests.count == 1)
        }
    }

    /// Tokens end while events are sent: they are renewed before, and events are not refused.
    @Test func tokensOfASecondAreRenewed() async throws {
        let valid = Locked<(number: Int, until: ContinuousClock.Instant)>((0, .now))
        let refused = EventCounter()
        let receiver = try TestReceiver { request, _ in
            let isValid = valid.withLock {
                request.header("authorization") == "Bearer t\($0.number)" && .now < $0.until
            }
            if !isValid { refused.increment() }
            return .answer(isValid ? 204 : 401)
        }
        let server = try TestReceiver { _, number in
            valid.withLock { $0 = (number, .now + .seconds(2)) }
            return Self.token(number, expiresIn: 1)
        }
        try await withTestBed { bed in
            let rules = try bed.rules(rules(receiver, client(server)))
            let counters = try await bed.following(rules, configure: withFastRetries) {
                for number in 0..<12 {
                    try await bed.load(orders(number * 10..<number * 10 + 10))
                    await receiver.wait(for: number * 10 + 10)
                    try await Task.sleep(for: .milliseconds(250))
                }
                while Set(receiver.requests.map(\.documentID)).count < 120 {
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            #expect(counters.deadLetters == 0)
            #expect(try deadLetters(bed, rules).isEmpty)
            // About one a second.
            #expect((2...12).contains(server.requests.count), "\(server.requests.count)")
        }
    }

    @Test func commandPrintsTheToken() async throws {
        let receiver = try TestReceiver()
        try await withTestBed { bed in
            let script = bed.directory + "/get-token"
            try
                "#!/bin/sh\necho x >> \"$(dirname \"$0\")/runs\"\necho \"{\\\"token\\\":\\\"$1\\\",\\\"expires_in\\\":600}\"\n"
                .write(toFile: script, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script)
            // The path is relative to the rule file.
            let rules = try bed.rules(rules(receiver, "token_command: [./get-token, 'a$b']"))
            try await bed.load(orders(0..<20))
            #expect(try await bed.runOnce(rules).outside.accepted == 20)
            #expect(Set(receiver.requests.map { $0.header("authorization") }) == ["Bearer a$b"])
            #expect(try String(contentsOfFile: bed.directory + "/runs", encoding: .utf8) == "x\n")
        }
    }

    @Test func missingSecretEndsTheRunAtItsStart() async throws {
        let (receiver, server) = (try TestReceiver(), try TestReceiver())
        try await BotTestBed.with { bed in
            let rules = try bed.rules(rules(receiver, client(server)))
            let error = await #expect(throws: RunError.self) { try await bed.runOnce(rules) }
            #expect(error?.code == .badConfiguration)
            #expect(
                error?.description.contains("can't read the client secret file") == true, "\(String(describing: error))"
            )
            #expect(server.requests.isEmpty)
        }
    }
}
