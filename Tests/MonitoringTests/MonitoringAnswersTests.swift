import DocumentFlow
import Encodings
import GatewayClient
import HTTPServing
import Locking
import LosslessJSON
import TestKit
import Testing

@testable import Monitoring

@Suite(.limitedParallelism) struct MonitoringAnswersTests {
    private static let page = Array("<style>a{}</style><script>1</script>".utf8)
    private let process = MonitoredProcess(version: "1.2.3")
    private let events = EventStream()

    private func bot(
        _ facts: RunFacts, named name: String = "pictures", deadLetters: MonitoredBot.DeadLetters = .init(),
        waiting: Waiting = Waiting(), diff: MonitoredBot.Diff? = nil
    ) async -> MonitoredBot {
        let bot = MonitoredBot(
            BotDescription(
                name: name, gateway: "http://127.0.0.1:4984/todo", stateOptions: "--name pictures",
                rules: RuleSetDescription(hash: "abc", names: ["a", "b"], paths: ["my rules"])),
            source: .init(facts: { facts }, deadLetters: { deadLetters }, waiting: { waiting }),
            registry: process.registry, diff: diff)
        await bot.refresh()
        return bot
    }

    private var following: RunFacts {
        var facts = RunFacts()
        facts.phase = .following
        return facts
    }

    private func answers(_ bots: [MonitoredBot], host: String = "127.0.0.1") -> MonitoringAnswers {
        let settings = MonitoringServer.Settings(host: host, port: 0, page: Self.page)
        for bot in bots { process.show(bot) }
        return MonitoringAnswers(
            settings: settings, process: process, events: events, status: CurrentStatus(of: process))
    }

    private func body(_ answer: Answer) -> String {
        guard case .whole(let bytes) = answer.body else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func get(_ path: String, _ bots: [MonitoredBot]) async -> (status: Int, body: String) {
        let answer = await answers(bots).answer(Request("GET", path))
        return (answer.status, body(answer))
    }

    @Test func followingBotIsReady() async {
        let answer = await get("/readyz", [await bot(following)])
        #expect(answer.status == 200)
    }

    @Test func botsThatAreNotReadyAreNamed() async {
        let answer = await get("/readyz", [await bot(following, named: "a"), await bot(RunFacts())])
        #expect(answer == (503, "pictures: not connected yet\n"))
    }

    @Test func processWithoutBotIsNotReady() async {
        #expect(await get("/readyz", []).status == 503)
        #expect(await get("/livez", []).status == 200)
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "PATCH"]) func nothingCanBeChanged(_ method: String) async {
        let answer = await answers([]).answer(Request(method, "/status"))
        #expect(answer.status == 405)
        #expect(answer.fields.contains(HTTPField("Allow", "GET, HEAD")))
    }

    /// Another site's page may point its host name to the address of this machine.
    @Test(arguments: [
        ("127.0.0.1:4990", 200), ("localhost", 200), ("LOCALHOST:1", 200), ("[::1]:80", 200), ("10.0.0.7", 200),
        ("evil.example", 421), ("evil.example:4990", 421), ("127.0.0.1.evil.example", 421), ("", 200),
        ("[::1]evil.example", 421), ("[::1]]", 421), ("[fe80::1]", 200),
    ]) func foreignHostNameIsRefused(_ host: String, _ status: Int) async {
        let answer = await answers([]).answer(Request("GET", "/livez", fields: [HTTPField("Host", host)]))
        #expect(answer.status == status)
    }

    @Test func configuredHostNameIsAccepted() async {
        let request = Request("GET", "/livez", fields: [HTTPField("Host", "bots.lan:80")])
        #expect(await answers([], host: "bots.lan").answer(request).status == 200)
    }

    @Test func statusIsJSONWithEveryPart() async throws {
        var deadLetters = MonitoredBot.DeadLetters()
        deadLetters.byRule = ["a": 2, "": 1]
        deadLetters.newest = [
            .init(
                number: 7, documentID: "t<1>", revision: "1-a", rule: "a", reason: "it \"failed\"",
                time: "2026-11-20T10:00:00Z")
        ]
        let text = await get("/status", [await bot(following, deadLetters: deadLetters)]).body
        let status = try JSONText(text).root
        let shown = try #require(status["bots"].map { Array($0.elements) }?.first)
        #expect(shown["phase"]?.string == "following")
        #expect(shown["sequence"]?["lag"]?.bytes.elementsEqual("0".utf8) == true)
        #expect(shown["dead_letters"]?["open"]?.bytes.elementsEqual("3".utf8) == true)
        let newest = try #require(shown["dead_letters"]?["newest"].map { Array($0.elements) }?.first)
        #expect(
            newest["retry"]?.string == "changebot dead-letters retry 7 --name pictures --rules 'my rules'")
        #expect(shown["rules"]?["rules"].map { Array($0.elements).count } == 2)
    }

    /// Only for rules that compare documents with what they saw of them last.
    @Test func statusContainsWhatRulesRemember() async throws {
        var waiting = Waiting()
        (waiting.remembered, waiting.learning) = (["b": 12], ["b"])
        let text = await get("/status", [await bot(following, waiting: waiting)]).body
        let rules = try JSONText(text).root["bots"]?.elements.first { _ in true }?["rules"]?["rules"]
        let shown = rules.map { $0.elements.map { String(decoding: $0.bytes, as: UTF8.self) } }
        #expect(
            shown == [
                #"{"name":"a","fired":0,"dead_letters":0}"#,
                #"{"name":"b","fired":0,"dead_letters":0,"remembered":12,"learning":true}"#,
            ])
    }

    private func down(_ kind: ReceiverOutages.Receiver.Kind, for seconds: Int) -> RunFacts {
        var facts = following
        facts.receivers = [
            (
                ReceiverOutages.Receiver(kind, "https://h:8443"),
                ReceiverOutages.Status(
                    began: .now - .seconds(seconds), reason: "answered HTTP 503", nextAttempt: .now + .seconds(60),
                    waiting: 12)
            )
        ]
        return facts
    }

    @Test func statusContainsReceiversThatAreDown() async throws {
        let status = try JSONText(await get("/status", [await bot(down(.downloads, for: 100))]).body).root
        let receivers = status["bots"]?.elements.first { _ in true }?["receivers_down"].map { Array($0.elements) } ?? []
        let receiver = try #require(receivers.first)
        #expect(
            receiver.members.map { $0.name.string } == ["kind", "url", "since", "next_attempt", "waiting", "reason"])
        #expect(receiver["kind"]?.string == "downloads" && receiver["url"]?.string == "https://h:8443")
        let times = ["since", "next_attempt"].compactMap { receiver[$0]?.string }
        #expect(times.count == 2 && times[0] < Timestamp.now && Timestamp.now < times[1], "\(times)")
        #expect(receiver["reason"]?.string == "answered HTTP 503")
        let well = try JSONText(await get("/status", [await bot(following)]).body).root
        #expect(well["bots"]?.elements.first { _ in true }?["receivers_down"]?.bytes.elementsEqual("[]".utf8) == true)
    }

    @Test func recoveredReceiverHasNoDownTime() async {
        let facts = Locked(down(.webhooks, for: 1000))
        let bot = MonitoredBot(
            BotDescription(
                name: "pictures", gateway: "http://127.0.0.1:4984/todo", stateOptions: "--name pictures",
                rules: RuleSetDescription(hash: "abc", names: [], paths: [])),
            source: .init(facts: { facts.withLock { $0 } }, deadLetters: { .init() }), registry: process.registry)
        await bot.refresh()
        func lines() async -> [Substring] {
            await get("/metrics", [bot]).body.split(separator: "\n").filter { $0.hasPrefix("changebot_receiver") }
        }
        let before = await lines()
        #expect(before.first == #"changebot_receivers_down{bot="pictures"} 1"#, "\(before)")
        let name = #"changebot_receiver_down_seconds{bot="pictures",kind="webhooks",receiver="https://h:8443"}"#
        #expect(before.last?.hasPrefix(name + " 100") == true, "\(before)")
        facts.withLock { $0 = following }
        await bot.refresh()
        #expect(await lines() == [#"changebot_receivers_down{bot="pictures"} 0"#, "\(name) 0"])
    }

    @Test func documentsAreShownOnlyIfEnabled() async throws {
        var written = WrittenDocument(
            id: DocumentID("t1"), revision: RevisionID("2-b"), rules: ["a"], isDeletion: false)
        written.before = try JSONText(#"{"secret":1}"#)
        let closed = await bot(following)
        closed.note(.wrote([written]))
        #expect(await get("/status", [closed]).body.contains("diff") == false)
        let open = await bot(
            following, diff: { before, _ in ["- " + String(decoding: before?.bytes ?? [], as: UTF8.self)] })
        open.note(.wrote([written]))
        #expect(await get("/status", [open]).body.contains(#""diff":["- {\"secret\":1}"]"#))
    }

    @Test func metricsNameBot() async {
        let bot = await bot(following)
        var difference = RunCounters()
        difference.changes = 5
        difference.rules.fired = ["a": 2]
        bot.note(.counted(difference))
        bot.note(.deadLettered(rule: nil))
        bot.note(.retried(.unavailable, wait: .zero))
        let text = await get("/metrics", [bot]).body
        for line in [
            #"changebot_changes_total{bot="pictures"} 5"#, #"changebot_rule_fired_total{bot="pictures",rule="a"} 2"#,
            #"changebot_dead_letters_total{bot="pictures",rule=""} 1"#,
            #"changebot_retries_total{bot="pictures",cause="unavailable"} 1"#,
            #"changebot_ready{bot="pictures"} 1"#, #"changebot_connected{bot="pictures"} 1"#,
            #"changebot_write_rate_limit{bot="pictures"} +Inf"#,
        ] { #expect(text.contains(line + "\n"), "\(line)") }
    }

    @Test func batchesAreMeasuredAndJQOnlyIfItRan() async {
        let bot = await bot(following)
        bot.note(.decided(.milliseconds(3), jq: nil))
        bot.note(.settled([.milliseconds(20), .seconds(2)]))
        let text = await get("/metrics", [bot]).body
        for line in [
            #"changebot_decide_seconds_count{bot="pictures"} 1"#, #"changebot_settle_seconds_count{bot="pictures"} 2"#,
            #"changebot_settle_seconds_sum{bot="pictures"} 2.02"#,
        ] { #expect(text.contains(line + "\n"), "\(line)") }
        #expect(!text.contains("changebot_jq_seconds"))
        bot.note(.decided(.milliseconds(3), jq: .milliseconds(2)))
        let later = await get("/metrics", [bot]).body
        #expect(later.contains(#"changebot_jq_seconds_bucket{bot="pictures",le="0.0025"} 1"#))
        #expect(later.contains(#"changebot_jq_seconds_sum{bot="pictures"} 0.002"#))
    }

    /// Hundreds of pages may request it concurrently.
    @Test func statusIsCreatedOnceBetweenRefreshes() async throws {
        let bot = await bot(following)
        process.show(bot)
        let status = CurrentStatus(of: process)
        let before = status.forms.text
        bot.note(
            .wrote([
                WrittenDocument(id: DocumentID("t1"), revision: RevisionID("2-b"), rules: ["a"], isDeletion: false)
            ]))
        #expect(status.forms.text == before)
        status.renew()
        #expect(String(decoding: status.forms.event, as: UTF8.self).contains("t1"))
    }

    @Test func onlyLatestEffectsAreKept() async {
        let bot = await bot(following)
        bot.note(
            .wrote(
                (1...RecentEffects.limit + 5).map {
                    WrittenDocument(id: DocumentID("t\($0)"), revision: RevisionID("2-b"), rules: [], isDeletion: false)
                }))
        let text = await get("/status", [bot]).body
        #expect(!text.contains(#""t5""#))
        #expect(text.contains(#""t6""#) && text.contains(#""t25""#))
    }

    @Test func pageMayRunOnlyItsOwnScript() async throws {
        let answer = await answers([]).answer(Request("GET", "/"))
        let policy = try #require(answer.fields.first { $0.name == "Content-Security-Policy" }?.value)
        #expect(policy.contains("default-src 'none'"))
        // printf 1 | openssl dgst -sha256 -binary | base64
        #expect(policy.contains("script-src 'sha256-a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s='"))
    }

    @Test func unknownPathAnswerListsKnownPaths() async {
        let answer = await get("/metric", [])
        #expect(answer.status == 404)
        #expect(answer.body.contains("/metrics"))
    }

    @Test func endedBotIsNotReadyAndNotQueried() async {
        let bot = await bot(following)
        await bot.end("not allowed")
        await bot.refresh()
        #expect(await get("/readyz", [bot]) == (503, "pictures: ended: not allowed\n"))
        let status = await get("/status", [bot]).body
        #expect(status.contains(#""phase":"ended""#) && status.contains(#""connected":false"#), "\(status)")
    }

    @Test func removedBotLeavesNoMetrics() async {
        let (first, second) = (await bot(following, named: "a"), await bot(following, named: "b"))
        let before = await get("/metrics", [first, second]).body
        #expect(before.contains(#"changebot_ready{bot="a"} 1"#))
        process.hide("a")
        let after = await get("/metrics", []).body
        #expect(!after.contains(#"bot="a""#) && after.contains(#"changebot_ready{bot="b"} 1"#), "\(after)")
    }
}
