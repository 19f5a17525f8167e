import BotState
import Bots
import Delivery
import DocumentFlow
import Encodings
import Foundation
import GatewayClient
import Locking
import LosslessJSON
import Rules
import TestKit
import Testing

/// Rules that send webhooks, to working and failing receivers.
@Suite(.limitedParallelism) struct WebhookTests {
    private func rules(_ url: String, _ more: String = "", when: String = "{ type: order }") -> String {
        """
        version: 1
        rules:
          - name: tell
            when: \(when)
            then:
              - webhook:
                  url: \(url)
                  \(more)
          - name: stamp
            when: { type: note, stamped: { $exists: false } }
            then: [merge: { stamped: true }]
        """
    }

    private func order(_ id: String, _ more: String = "") -> (id: DocumentID, body: String) {
        (DocumentID(id), #"{"_id":"\#(id)","type":"order"\#(more)}"#)
    }

    private func orders(_ count: Int) -> [(id: DocumentID, body: String)] { (0..<count).map { order("o\($0)") } }

    /// Makes retries come soon.
    private func withFastRetries(_ settings: inout BotSettings) {
        settings.delivery.outside.backoff.base = .milliseconds(20)
        settings.delivery.outside.backoff.cap = .milliseconds(200)
    }

    private func deadLetters(_ bed: BotTestBed, _ rules: RuleSet) throws -> [DeadLetter] {
        let ledger = try bed.ledger(rules)
        defer { ledger.close() }
        return try ledger.deadLetters()
    }

    // MARK: - A receiver that is in order

    @Test func eventsArriveSignedOnceAndEightAtATime() async throws {
        let receiver = try TestReceiver(gathering: 8) { _, _ in .answer(204) }
        try await BotTestBed.with { bed in
            let secrets = [[UInt8]](repeating: [], count: 2).map { _ in (0..<32).map { _ in UInt8.random(in: 0...255) }
            }
            for (index, secret) in secrets.enumerated() {
                try ("whsec_" + Base64.text(secret) + "\n").write(
                    toFile: bed.directory + "/secret\(index)", atomically: true, encoding: .utf8)
            }
            let rules = try bed.rules(rules(receiver.url, "secret_files: [secret0, secret1]"))
            try await bed.load(orders(300))
            let counters = try await bed.runOnce(rules)
            #expect(counters.outside.accepted == 300)
            #expect(counters.written == 0)
            #expect(Set(receiver.requests.map(\.documentID)) == Set((0..<300).map { "o\($0)" }))
            #expect(Set(receiver.requests.map(\.eventID)).count == 300)
            for request in receiver.requests {
                #expect(secrets.allSatisfy(request.isSigned))
                #expect(request.header("content-type") == "application/cloudevents+json")
                #expect(request.header("idempotency-key") == request.eventID)
                #expect((try? JSONText(request.body))?.root["id"]?.string == request.eventID)
            }
            #expect(receiver.maxConcurrent == 8)
            // Nothing is left for another run.
            #expect(try await bed.runOnce(rules).outside.accepted == 0)
        }
    }

    @Test func tombstonesAreSent() async throws {
        let receiver = try TestReceiver()
        try await BotTestBed.with(countsRevisions: true) { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules: [{ name: gone, on: [delete], when: {}, then: [webhook: { url: \(receiver.url) }] }]
                """)
            try await bed.load([order("o1")])
            guard case .found(let revision, _)? = try await bed.phone.allDocs(keys: ["o1"]).first else { return }
            _ = try await bed.phone.bulkDocs([
                BulkDocument(
                    id: "o1", segments: [Array(#"{"_id":"o1","_rev":"\#(revision)","_deleted":true}"#.utf8)])
            ])
            #expect(try await bed.runOnce(rules).outside.accepted == 1)
            let event = try JSONText(try #require(receiver.requests.first).body).root
            #expect(event["type"]?.string == "changebot.document.deleted")
            #expect(event["data"]?["_deleted"]?.bool == true)
            #expect(event["data"]?["_id"]?.string == "o1")
            #expect(event["data"]?["_rev"]?.string?.hasPrefix("2-") == true)
        }
    }

    @Test func passSendsWebhooksAndADryRunDoesNot() async throws {
        let receiver = try TestReceiver()
        try await BotTestBed.with { bed in
            // The files are not needed for a preview.
            let rules = try bed.rules(rules(receiver.url, "secret_files: [missing]"))
            try await bed.load(orders(2))
            let lines = try await bed.preview(rules)
            #expect(lines.count == 2)
            #expect(lines.first?.contains(#""action":"webhook""#) == true)
            #expect(receiver.requests.isEmpty)
            await #expect(throws: RunError.self) { try await bed.fix(rules) }
            #expect(receiver.requests.isEmpty)
            try "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA".write(
                toFile: bed.directory + "/missing", atomically: true, encoding: .utf8)
            #expect(try await bed.fix(rules).outside.accepted == 2)
        }
    }

    @Test(arguments: [
        ("secret_files: [s]", "s", "no base64!", "must contain whsec_ and base64"),
        ("token_file: t", "t", " \n", "is empty; write the token into it"),
        ("token_file: t", "t", "a\nb", "has several lines or control characters"),
        ("token_file: t", "other", "a", "there is no such file"),
        ("user: amy, password_file: p", "other", "a", "can't read the password file"),
    ])
    func unusableFileEndsTheRunAtItsStart(
        webhook: String, file: String, content: String, message: String
    ) async throws {
        try await BotTestBed.with { bed in
            try content.write(toFile: bed.directory + "/" + file, atomically: true, encoding: .utf8)
            let rules = try bed.rules(
                "version: 1\nrules: [{ name: a, when: {}, then: [webhook: { url: 'http://127.0.0.1:1', \(webhook) }] }]"
            )
            let error = await #expect(throws: RunError.self) { try await bed.runOnce(rules) }
            #expect(error?.code == .badConfiguration)
            #expect(error?.description.contains(message) == true, "\(String(describing: error))")
            #expect(error?.description.contains("no base64!") != true)
        }
    }

    @Test func replacedSecretIsUsedWithoutARestart() async throws {
        let receiver = try TestReceiver()
        try await BotTestBed.with { bed in
            let file = bed.directory + "/token"
            try "first".write(toFile: file, atomically: true, encoding: .utf8)
            let rules = try bed.rules(rules(receiver.url, "token_file: token"))
            try await bed.following(rules) {
                try await bed.load([order("o1")])
                await receiver.wait(for: 1)
                try "second-one".write(toFile: file, atomically: true, encoding: .utf8)
                try await bed.load([order("o2")])
                await receiver.wait(for: 2)
                // An unusable file does not replace the usable content.
                try "".write(toFile: file, atomically: true, encoding: .utf8)
                try await bed.load([order("o3")])
                await receiver.wait(for: 3)
            }
            #expect(
                receiver.requests.map { $0.header("authorization") } == [
                    "Bearer first", "Bearer second-one", "Bearer second-one",
                ])
        }
    }

    @Test func changesOfADocumentAreSentInOrder() async throws {
        let receiver = try TestReceiver { _, number in
            Thread.sleep(forTimeInterval: number.isMultiple(of: 3) ? 0.03 : 0)
            return .answer(200)
        }
        try await BotTestBed.with { bed in
            let rules = try bed.rules(rules(receiver.url))
            try await bed.following(rules) {
                var revision: RevisionID?
                for number in 0..<20 {
                    let rev = revision.map { #","_rev":"\#($0)""# } ?? ""
                    let outcome = try await bed.phone.bulkDocs([
                        BulkDocument(
                            id: "o", segments: [Array(#"{"_id":"o","type":"order","n":\#(number)\#(rev)}"#.utf8)])
                    ]).first
                    if case .written(let written)? = outcome { revision = written }
                }
                while receiver.requests.last.flatMap({ try? JSONText($0.body) })?.root["data"]?["n"]?.integer != 19 {
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            let numbers = receiver.requests.compactMap { try? JSONText($0.body).root["data"]?["n"]?.integer }
            #expect(numbers == numbers.sorted())
            #expect(Set(numbers).count == numbers.count)
        }
    }

    // MARK: - A receiver that is not

    @Test func recoveredReceiverGetsAllEvents() async throws {
        let isUp = Locked(false)
        let receiver = try TestReceiver { _, _ in isUp.withLock { $0 } ? .answer(200) : .close }
        try await BotTestBed.with { bed in
            let rules = try bed.rules(rules(receiver.url))
            try await bed.load(orders(50) + [("n1", #"{"_id":"n1","type":"note"}"#)])
            let counters = try await bed.following(rules, configure: withFastRetries) {
                // Other documents are processed.
                try await bed.wait(until: "n1") { $0["stamped"]?.bool == true }
                await receiver.wait(for: 3)
                isUp.withLock { $0 = true }
                while Set(receiver.requests.map(\.documentID)).count < 50
                    || receiver.requests.count < 50
                {
                    try await Task.sleep(for: .milliseconds(20))
                }
                await receiver.wait(for: 50)
            }
            // Events whose documents were not recorded when the bot stopped are sent again, with the same ids.
            let rest = try await bed.runOnce(rules, configure: withFastRetries)
            #expect(counters.outside.accepted + rest.outside.accepted >= 50)
            #expect(counters.deadLetters == 0)
            // While it was down, it got occasional requests, not one for each event.
            #expect(receiver.requests.count < 150)
            let ids = Dictionary(grouping: receiver.requests, by: \.documentID).mapValues { Set($0.map(\.eventID)) }
            #expect(ids.count == 50)
            #expect(ids.values.allSatisfy { $0.count == 1 })
        }
    }

    @Test func oneShotRunGivesUpAndTheNextOneSendsTheRest() async throws {
        let receiver = try TestReceiver()
        try await BotTestBed.with { bed in
            let broken = try bed.rules(rules("http://127.0.0.1:1/hook"))
            try await bed.load(orders(5))
            let error = await #expect(throws: RunError.self) {
                try await bed.runOnce(broken) { settings in
                    withFastRetries(&settings)
                    settings.delivery.retries.retryFor = .milliseconds(300)
                }
            }
            #expect(error?.code == .gaveUp)
            #expect(error?.description.contains("gave up after") == true)
            #expect(try deadLetters(bed, broken).isEmpty)
            let rules = try bed.rules(rules(receiver.url))
            #expect(try await bed.runOnce(rules).outside.accepted == 5)
        }
    }

    @Test(arguments: [500, 502, 503, 504, 408, 425, 429])
    func temporaryFailureIsRetriedWithTheSameID(status: Int) async throws {
        let receiver = try TestReceiver { _, number in .answer(number < 4 ? status : 200) }
        try await BotTestBed.with { bed in
            let rules = try bed.rules(rules(receiver.url))
            try await bed.load(orders(3))
            let counters = try await bed.runOnce(rules, configure: withFastRetries)
            #expect(counters.outside.accepted == 3)
            #expect(counters.deadLetters == 0)
            #expect(receiver.requests.count == 7)
            let ids = Dictionary(grouping: receiver.requests, by: \.documentID).mapValues { Set($0.map(\.eventID)) }
            #expect(ids.values.allSatisfy { $0.count == 1 })
        }
    }

    @Test func retryAfterIsHonoured() async throws {
        let times = Locked<[ContinuousClock.Instant]>([])
        let receiver = try TestReceiver { _, number in
            times.withLock { $0.append(.now) }
            return number == 0 ? .answer(429, headers: ["Retry-After: 1"]) : .answer(200)
        }
        try await BotTestBed.with { bed in
            let rules = try bed.rules(rules(receiver.url))
            try await bed.load(orders(1))
            #expect(try await bed.runOnce(rules, configure: withFastRetries).outside.accepted == 1)
            let seen = times.withLock { $0 }
            try #require(seen.count == 2)
            #expect(seen[0].duration(to: seen[1]) >= .milliseconds(990))
        }
    }

    @Test(arguments: [
        (
            400, ["Content-Type: text/plain"], "no such\nshop\u{1B}[31m",
            "refused the event with HTTP 400: no such shop [31m"
        ),
        (410, [], "", "refused the event with HTTP 410"),
        (
            301, ["Location: https://amy:pw@other.example/path?secret"], "",
            "answered HTTP 301, a redirect to https://other.example; redirects are not followed: set 'url' to the new address"
        ),
        (302, ["Location: /elsewhere"], "", "answered HTTP 302, a redirect; redirects are not followed"),
    ])
    func refusedEventIsADeadLetter(
        status: Int, headers: [String], body: String, reason: String
    ) async throws {
        let receiver = try TestReceiver { request, _ in
            request.documentID == "o1" ? .answer(status, headers: headers, body: body) : .answer(200)
        }
        try await BotTestBed.with { bed in
            let rules = try bed.rules(rules(receiver.server.url("/hook?key=s3cr3t")))
            try await bed.load(orders(3))
            let counters = try await bed.runOnce(rules)
            #expect(counters.deadLetters == 1)
            #expect(counters.outside.accepted == 2)
            #expect(counters.outside.refused == 1)
            let letter = try #require(try deadLetters(bed, rules).first)
            #expect(letter.rule == "tell")
            #expect(
                letter.reason.hasPrefix("webhook: http://127.0.0.1:\(receiver.server.port)/hook \(reason)"),
                "\(letter.reason)")
            #expect(!letter.reason.contains("s3cr3t"))
            #expect(receiver.requests.count == 3)
        }
    }

    @Test func statusesMeanWhatTheRuleSays() async throws {
        let answers = ["o409": [409], "o404": [404, 404, 200], "o503": [503], "o202": [202]]
        let counts = Locked<[String: Int]>([:])
        let receiver = try TestReceiver { request, _ in
            let id = request.documentID
            let number = counts.withLock { counts in
                counts[id, default: 0] += 1
                return (counts[id] ?? 1) - 1
            }
            let statuses = answers[id] ?? []
            return .answer(statuses[min(number, statuses.count - 1)], body: #"{"at":"\#(id)"}"#)
        }
        try await BotTestBed.with { bed in
            let statuses = "on_status: { 409: done, 404: retry, 5xx: dead-letter, 202: dead-letter }"
            let rules = try bed.rules(
                rules(
                    receiver.url,
                    statuses
                        + "\n          response: { merge: { got: { jq: '[$response.status, $response.body.at]' } } }",
                    when: "{ type: order, got: { $exists: false } }"))
            try await bed.load(answers.keys.sorted().map { order($0) })
            let counters = try await bed.runOnce(rules, configure: withFastRetries)
            let reasons = try deadLetters(bed, rules).map(\.reason)
            #expect(reasons.count == 2, "\(reasons)")
            #expect(counters.outside.accepted == 2)
            #expect(counters.outside.refused == 2)
            #expect(try await bed.stored("o409")?.root["got"]?.bytes.elementsEqual(#"[409,"o409"]"#.utf8) == true)
            #expect(try await bed.stored("o404")?.root["got"]?.bytes.elementsEqual(#"[200,"o404"]"#.utf8) == true)
            #expect(counts.withLock { $0 } == ["o409": 1, "o404": 3, "o503": 1, "o202": 1])
            #expect(reasons.contains { $0.contains("refused the event with HTTP 503 (on_status: dead-letter)") })
            #expect(reasons.contains { $0.contains("refused the event with HTTP 202 (on_status: dead-letter)") })
        }
    }

    @Test func eventsAreSignedAsGitHubDoesIt() async throws {
        let receiver = try TestReceiver()
        try await BotTestBed.with { bed in
            for (name, text) in [("secret", "s3cret text\n"), ("order.xml", "<order>\\(._id)</order>")] {
                try text.write(toFile: bed.directory + "/" + name, atomically: true, encoding: .utf8)
            }
            let rules = try bed.rules(
                rules(receiver.url, "secret_files: secret\n          signature: github\n          body_file: order.xml")
            )
            try await bed.load(orders(1))
            #expect(try await bed.runOnce(rules).outside.accepted == 1)
            let request = try #require(receiver.requests.first)
            #expect(request.text == "<order>o0</order>")
            #expect(request.header("content-type") == "application/xml")
            let code = MessageAuthentication.hmacSHA256(request.body, key: Array("s3cret text".utf8)).hex
            #expect(request.header("x-hub-signature-256") == "sha256=" + code)
            #expect(request.values(of: "webhook-signature").isEmpty)
        }
    }

    @Test(arguments: [TestReceiver.Reply.answer(500), .close])
    func failingEventIsADeadLetterOnceOthersAreAccepted(reply: TestReceiver.Reply) async throws {
        let receiver = try TestReceiver { request, _ in request.documentID == "o1" ? reply : .answer(200) }
        try await BotTestBed.with { bed in
            let rules = try bed.rules(rules(receiver.url))
            try await bed.load(orders(3))
            let counters = try await bed.following(rules, configure: withFastRetries) {
                // Until it gets no more attempts, while others do.
                var number = 0
                var tried = (count: 0, at: 0)
                while tried.count < 8 || number - tried.at < 30 {
                    let count = receiver.requests.count(where: { $0.documentID == "o1" })
                    if count > tried.count { tried = (count, number) }
                    number += 1
                    try await bed.load([order("more\(number)")])
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            #expect(counters.deadLetters == 1)
            let letter = try #require(try deadLetters(bed, rules).first)
            #expect(letter.id == "o1")
            #expect(
                letter.reason.hasPrefix("webhook: failed 8 times while the receiver accepts other events; last error:"),
                "\(letter.reason)")
            // libcurl repeats a request by itself, up to five times, if a reused connection ends without an answer.
            #expect((8...48).contains(receiver.requests.count(where: { $0.documentID == "o1" })))
        }
    }

    @Test(arguments: [TestReceiver.Reply.hangInBody, .endless])
    func unneededResponseNeedNotEnd(reply: TestReceiver.Reply) async throws {
        let receiver = try TestReceiver { _, _ in reply }
        try await BotTestBed.with { bed in
            let rules = try bed.rules(rules(receiver.url))
            try await bed.load(orders(2))
            #expect(try await bed.runOnce(rules).outside.accepted == 2)
            #expect(receiver.requests.count == 2)
        }
    }

    @Test func timedOutRequestIsRetried() async throws {
        let receiver = try TestReceiver { _, number in number < 2 ? .hang : .answer(200) }
        try await BotTestBed.with { bed in
            let rules = try bed.rules(rules(receiver.url, "timeout: 200ms"))
            try await bed.load(orders(2))
            #expect(try await bed.runOnce(rules, configure: withFastRetries).outside.accepted == 2)
            #expect(receiver.requests.count == 4)
        }
    }

    @Test func timersThatWaitForAReceiverDelayNoOthers() async throws {
        let receiver = try TestReceiver { _, _ in .answer(503) }
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - { name: call, when: { type: order }, at: .dueAt, then: [webhook: { url: \(receiver.url) }] }
                  - { name: mark, when: { type: note }, at: .dueAt, then: [merge: { marked: true }] }
                """)
            let now = Timestamp.secondsNow
            let orders = (0..<150).map {
                (DocumentID("o\($0)"), #"{"_id":"o\#($0)","type":"order","dueAt":\#(now + 1)}"#)
            }
            let notes = (0..<3).map { (DocumentID("n\($0)"), #"{"_id":"n\#($0)","type":"note","dueAt":\#(now + 2)}"#) }
            try await bed.load(orders + notes)
            try await bed.following(rules) {
                try await bed.wait(until: notes.map(\.0)) { $0["marked"]?.bool == true }
            }
        }
    }

    // MARK: - A slow receiver

    @Test func slowReceiverDelaysNoOtherChanges() async throws {
        let mayAnswer = Monitor(false)
        let receiver = try TestReceiver { _, _ in
            mayAnswer.block { $0 }
            return .answer(204)
        }
        try await BotTestBed.with { bed in
            defer { mayAnswer.with { $0 = true } }
            let rules = try bed.rules(rules(receiver.url, "timeout: 5m"))
            let notes = (0..<50).map { (id: DocumentID("n\($0)"), body: #"{"_id":"n\#($0)","type":"note"}"#) }
            // More than all writers decide at once, with the notes among them.
            try await bed.load(orders(600) + notes)
            let counters = try await bed.following(rules) {
                await receiver.wait(for: 8)
                for note in notes { try await bed.wait(until: note.id) { $0["stamped"]?.bool == true } }
                #expect(receiver.requests.count == 8)
                mayAnswer.with { $0 = true }
                await receiver.wait(for: 600)
            }
            #expect(counters.outside.accepted == 600)
            #expect(counters.traffic.retries == 0)
            #expect(Set(receiver.requests.map(\.documentID)).count == 600)
            #expect(receiver.requests.count == 600)
            #expect(receiver.maxConcurrent == 8)
        }
    }

    /// Regression: the timer was due while the event was on its way, and the change had cancelled it. The rules were then
    /// applied to the bot's own revision.
    @Test func cancelledTimerRepeatsNoEvent() async throws {
        let mayAnswer = Monitor(false)
        let receiver = try TestReceiver { _, _ in
            mayAnswer.block { $0 }
            return .answer(204)
        }
        try await BotTestBed.with { bed in
            defer { mayAnswer.with { $0 = true } }
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - { name: late, when: { type: reminder }, at: .dueAt, then: [{ merge: { late: true } }] }
                  - name: event
                    when: { type: ping }
                    then: [{ webhook: { url: "\(receiver.url)" } }, { merge: { sent: true } }]
                """)
            let clock = SetClock()
            let reminder = #""type":"reminder","dueAt":\#(clock.now + 10)"#
            try await bed.load(["t", "other"].map { (DocumentID($0), #"{"_id":"\#($0)",\#(reminder)}"#) })
            try await bed.runOnce(rules, configure: clock.set)
            let revision = try #require(try await bed.stored("t")?.root["_rev"]?.string)
            try await bed.following(rules, configure: clock.set) {
                try await bed.load([("t", #"{"_id":"t","_rev":"\#(revision)","type":"ping"}"#)])
                await receiver.wait(for: 1)
                // Both timers are due together, so that of `t` waits once the other one has fired.
                clock.move(by: 10)
                try await bed.wait(until: "other") { $0["late"]?.bool == true }
                mayAnswer.with { $0 = true }
                try await bed.wait(until: "t") { $0["sent"]?.bool == true }
                try await bed.load([("u", #"{"_id":"u","type":"ping"}"#)])
                try await bed.wait(until: "u") { $0["sent"]?.bool == true }
            }
            #expect(receiver.requests.map(\.documentID) == ["t", "u"])
        }
    }

    @Test func responseOfASlowReceiverIsWrittenWhileOthersWait() async throws {
        let mayAnswer = Monitor(false)
        let receiver = try TestReceiver { request, _ in
            if request.documentID != "o1" { mayAnswer.block { $0 } }
            return .answer(200, body: #"{"id":"p"}"#)
        }
        try await BotTestBed.with { bed in
            defer { mayAnswer.with { $0 = true } }
            let rules = try bed.rules(
                rules(receiver.url, merging, when: "{ type: order, payment: { $exists: false } }"))
            try await bed.following(rules) {
                try await bed.load(orders(1))
                await receiver.wait(for: 1)
                try await bed.load([order("o1")])
                try await bed.wait(until: "o1") { $0["payment"] != nil }
                #expect(receiver.requests.count == 2)
                mayAnswer.with { $0 = true }
                try await bed.wait(until: "o0") { $0["payment"] != nil }
            }
        }
    }

    // MARK: - Answers that are written

    private let merging = "response: { merge: { payment: { jq: $response.body.id }, code: { jq: $response.status } } }"

    @Test func responseIsMergedAndRulesSeeIt() async throws {
        let receiver = try TestReceiver { request, _ in
            .answer(201, headers: ["Content-Type: application/json"], body: #"{"id":"p-\#(request.documentID)"}"#)
        }
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                rules(receiver.url, merging, when: "{ type: order, payment: { $exists: false } }")
                    + "\n  - { name: paid, when: { payment: { $exists: true }, paid: { $exists: false } }, then: [merge: { paid: true }] }"
            )
            try await bed.load([order("o1", #","total":1.10"#), order("o2")])
            let counters = try await bed.runOnce(rules)
            #expect(counters.outside.accepted == 2)
            let first = try #require(try await bed.stored("o1")).root
            #expect(first["payment"]?.string == "p-o1")
            #expect(first["code"]?.integer == 201)
            #expect(first["paid"]?.bool == true)
            #expect(receiver.requests.count == 2)
            #expect(try await bed.runOnce(rules).outside.accepted == 0)
        }
    }

    @Test func daemonAlsoSeesTheMergedResponse() async throws {
        let receiver = try TestReceiver { _, _ in .answer(200, body: #"{"id":"p"}"#) }
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                rules(receiver.url, merging, when: "{ type: order, payment: { $exists: false } }")
                    + "\n  - { name: paid, when: { payment: { $exists: true }, paid: { $exists: false } }, then: [merge: { paid: true }] }"
            )
            try await bed.following(rules) {
                try await bed.load([order("o1")])
                try await bed.wait(until: "o1") { $0["paid"]?.bool == true }
            }
            #expect(receiver.requests.count == 1)
        }
    }

    @Test func passMergesResponsesAndItsRulesSeeThem() async throws {
        let receiver = try TestReceiver { _, _ in .answer(200, body: #"{"id":"p"}"#) }
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                rules(receiver.url, merging, when: "{ type: order, payment: { $exists: false } }")
                    + "\n  - { name: paid, when: { payment: { $exists: true }, paid: { $exists: false } }, then: [merge: { paid: true }] }"
            )
            try await bed.load(orders(3))
            try await bed.fix(rules)
            for number in 0..<3 {
                #expect(try await bed.stored(DocumentID("o\(number)"))?.root["paid"]?.bool == true)
            }
            #expect(receiver.requests.count == 3)
        }
    }

    @Test func ruleThatFiresOnItsOwnResponseEndsAsADeadLetter() async throws {
        let receiver = try TestReceiver { _, number in .answer(200, body: #"{"id":\#(number)}"#) }
        try await BotTestBed.with { bed in
            let rules = try bed.rules(rules(receiver.url, merging))
            try await bed.load(orders(1))
            let counters = try await bed.runOnce(rules)
            #expect(counters.deadLetters == 1)
            #expect(receiver.requests.count == 10)
            #expect(try deadLetters(bed, rules).map(\.reason) == ["rule chain: tell → tell"])
        }
    }

    @Test func documentChangedMeanwhileIsDecidedAgain() async throws {
        let revisions = Locked<[String]>([])
        let change = Locked<(@Sendable () -> Void)?>(nil)
        let receiver = try TestReceiver { request, number in
            let revision = (try? JSONText(request.body))?.root["data"]?["_rev"]?.string
            revisions.withLock { $0.append(revision ?? "") }
            if number == 0 { change.withLock { $0 }?() }
            return .answer(200, body: #"{"id":"p\#(number)"}"#)
        }
        try await BotTestBed.with(countsRevisions: true) { bed in
            let rules = try bed.rules(
                rules(receiver.url, merging, when: "{ type: order, payment: { $exists: false } }"))
            try await bed.load(orders(1))
            change.withLock {
                $0 = {
                    let isDone = Monitor(false)
                    Task {
                        let stored = try await bed.stored("o0")
                        let revision = stored?.root["_rev"]?.string ?? ""
                        _ = try await bed.phone.bulkDocs([
                            BulkDocument(
                                id: "o0",
                                segments: [Array(#"{"_id":"o0","type":"order","edit":1,"_rev":"\#(revision)"}"#.utf8)])
                        ])
                        isDone.with { $0 = true }
                    }
                    isDone.block { $0 }
                }
            }
            #expect(try await bed.runOnce(rules).outside.accepted == 2)
            let stored = try #require(try await bed.stored("o0")).root
            #expect(stored["edit"]?.integer == 1)
            #expect(stored["payment"]?.string == "p1")
            #expect(Set(receiver.requests.map(\.eventID)).count == 2)
            #expect(revisions.withLock { $0.map { $0.prefix(2) } } == ["1-", "2-"])
        }
    }

    @Test(arguments: [TestReceiver.Reply.hangInBody, .close])
    func cutResponseIsRequestedAgain(reply: TestReceiver.Reply) async throws {
        let receiver = try TestReceiver { _, number in number == 0 ? reply : .answer(200, body: #"{"id":"p"}"#) }
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                rules(
                    receiver.url, merging + "\n          timeout: 300ms",
                    when: "{ type: order, payment: { $exists: false } }"))
            try await bed.load(orders(1))
            #expect(try await bed.runOnce(rules, configure: withFastRetries).written == 1)
            #expect(Set(receiver.requests.map(\.eventID)).count == 1)
            #expect(receiver.requests.count == 2)
        }
    }

    @Test func oversizedResponseIsADeadLetter() async throws {
        let receiver = try TestReceiver { _, _ in .endless }
        try await BotTestBed.with { bed in
            let rules = try bed.rules(rules(receiver.url, merging))
            try await bed.load(orders(1))
            #expect(try await bed.runOnce(rules).deadLetters == 1)
            let reason = try #require(try deadLetters(bed, rules).first?.reason)
            #expect(reason.contains("its response is larger than 1 MiB and is not merged"), "\(reason)")
            #expect(receiver.requests.count == 1)
        }
    }

    /// Other notations of addresses count, too, and so do names that resolve to them.
    @Test(arguments: ["169.254.169.254", "2852039166", "[::ffff:169.254.169.254]"])
    func linkLocalReceiverIsRefused(host: String) async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(rules("http://\(host)/latest/meta-data/"))
            try await bed.load(orders(1))
            #expect(try await bed.runOnce(rules).deadLetters == 1)
            let reason = try #require(try deadLetters(bed, rules).first?.reason)
            #expect(reason.contains("has a link-local address, which is refused because cloud providers"), "\(reason)")
            #expect(reason.contains("correct the host in 'url'"))
        }
    }

    // MARK: - TLS

    @Test func filesThatVanishDuringAOneShotRunEndIt() async throws {
        guard TestCertificate.openSSL != nil else { return }
        let certificate = try TestCertificate(for: "IP:127.0.0.1")
        let server = try SecureTestServer(certificate, answers: false)
        try await BotTestBed.with { bed in
            let (token, authorities) = (bed.directory + "/token", bed.directory + "/ca.pem")
            let receiver = try TestReceiver { _, _ in
                for path in [token, authorities] { try? FileManager.default.removeItem(atPath: path) }
                return .answer(200)
            }
            try "t0ken".write(toFile: token, atomically: true, encoding: .utf8)
            try FileManager.default.copyItem(atPath: certificate.file, toPath: authorities)
            let secure = "https://127.0.0.1:\(server.port)/hook"
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: tell
                    when: { type: order }
                    then:
                      - webhook: { url: "\(receiver.url)", token_file: token }
                      - webhook: { url: "\(receiver.url)/2", token_file: token }
                      - webhook: { url: "\(secure)", ca_file: ca.pem, timeout: 1s }
                """)
            try await bed.load(orders(1))
            let error = await #expect(throws: RunError.self) {
                try await bed.runOnce(rules) { settings in
                    withFastRetries(&settings)
                    settings.delivery.retries.retryFor = .milliseconds(100)
                }
            }
            #expect(error?.code == .gaveUp)
            #expect(
                error?.description.contains("check the file that ca_file names") == true, "\(error?.description ?? "")")
            // The earlier content of a secret counts.
            #expect(receiver.requests.map { $0.header("authorization") } == ["Bearer t0ken", "Bearer t0ken"])
        }
    }

    @Test func privateAuthorityMustBeNamed() async throws {
        guard TestCertificate.openSSL != nil else { return }
        let certificate = try TestCertificate(for: "IP:127.0.0.1")
        let server = try SecureTestServer(certificate, answers: false)
        try await BotTestBed.with { bed in
            let url = "https://127.0.0.1:\(server.port)/hook"
            try await bed.load(orders(1))
            let unknown = try bed.rules(rules(url))
            let error = await #expect(throws: RunError.self) {
                try await bed.runOnce(unknown) { settings in
                    withFastRetries(&settings)
                    settings.delivery.retries.retryFor = .milliseconds(100)
                }
            }
            #expect(error?.description.contains("set ca_file to the authority that signed its certificate") == true)
            let missing = try bed.rules(rules(url, "ca_file: none.pem"))
            let absent = await #expect(throws: RunError.self) { try await bed.runOnce(missing) }
            #expect(absent?.code == .badConfiguration)
            let known = try bed.rules(rules(url, "ca_file: \(certificate.file)\n          timeout: 1s"))
            async let run: RunCounters? = try? bed.runOnce(known) { settings in
                withFastRetries(&settings)
                settings.delivery.retries.retryFor = .milliseconds(100)
            }
            // It prints the requests, and answers nothing.
            await server.waitForInput()
            _ = await run
        }
    }

    @Test func receiverMayRequireACertificate() async throws {
        guard TestCertificate.openSSL != nil else { return }
        let certificate = try TestCertificate(for: "IP:127.0.0.1")
        let own = try TestCertificate(for: "DNS:bot")
        let server = try SecureTestServer(certificate, answers: false, client: own)
        try await BotTestBed.with { bed in
            try await bed.load(orders(1))
            let rules = try bed.rules(
                rules(
                    "https://127.0.0.1:\(server.port)/hook",
                    "ca_file: \(certificate.file)\n          certificate_file: \(own.file)\n          key_file: \(own.keyFile)\n"
                        + "          timeout: 1s"))
            async let run: RunCounters? = try? bed.runOnce(rules) { settings in
                withFastRetries(&settings)
                settings.delivery.retries.retryFor = .milliseconds(100)
            }
            // It prints nothing without the certificate.
            await server.waitForInput()
            _ = await run
        }
    }

    // MARK: - What is known of a receiver that is down

    @Test func receiverIsReportedDownUntilItAnswers() async throws {
        let (isUp, accepted) = (Locked(false), Monitor(0))
        let receiver = try TestReceiver { _, _ in
            guard isUp.withLock({ $0 }) else { return .answer(503) }
            accepted.with { $0 += 1 }
            return .answer(204)
        }
        let outages = Locked<ReceiverOutages?>(nil)
        try await BotTestBed.with { bed in
            let rules = try bed.rules(rules(receiver.url + "?key=s3cret"))
            try await bed.load([order("o1")])
            try await bed.following(rules) { settings in
                withFastRetries(&settings)
                outages.withLock { $0 = settings.delivery.outside.receivers }
            } _: {
                // By then, the first attempt has failed.
                await receiver.wait(for: 2)
                let down = outages.withLock { $0?.status ?? [] }
                #expect(down.map(\.receiver) == [ReceiverOutages.Receiver(.webhooks, receiver.server.url(""))])
                #expect(down.first?.status.reason == "answered HTTP 503")
                #expect(down.first?.status.waiting == 1)
                isUp.withLock { $0 = true }
                try await bed.load([order("o2")])
                // Only one request at a time is sent to a receiver that is down.
                await accepted.wait { $0 == 2 }
                #expect(outages.withLock { $0?.status.isEmpty } == true)
            }
        }
    }

    // MARK: - After a reset

    @Test func resetStopsARunWithOutsideEffectsUnlessConfigured() async throws {
        let receiver = try TestReceiver()
        try await BotTestBed.with { bed in
            let rules = try bed.rules(rules(receiver.url))
            try await bed.load(orders(2))
            #expect(try await bed.runOnce(rules).outside.accepted == 2)
            let mark = try await bed.phone.localDocument("changebot.changebot")
            try await bed.phone.saveLocalDocument(
                "changebot.changebot", body: Array(#"{"identity":"another"}"#.utf8), revision: mark?.revision)
            let error = await #expect(throws: RunError.self) { try await bed.runOnce(rules) }
            #expect(error?.code == .databaseReset)
            #expect(error?.description.contains("repeats the webhooks") == true)
            #expect(receiver.requests.count == 2)
            #expect(try await bed.runOnce(rules) { $0.onReset = .restart }.outside.accepted == 2)
        }
    }
}
