import DocumentFlow
import Fleet
import GatewayClient
import LosslessJSON
import PostgreSQL
import Rules
import TestKit
import Testing

@testable import BotState
@testable import Bots
@testable import Delivery

/// Failures of members that share the work, of their engine and of documents. Nothing is lost, and no rule fires twice.
@Suite(.limitedParallelism(isLong: true)) struct SharedTroubleTests {
    private static func ids(_ prefix: String, _ count: Int) -> [DocumentID] {
        (1...count).map { DocumentID("\(prefix)\($0)") }
    }

    private static func load(_ fleet: EngineTestBed, _ prefix: String, _ count: Int, _ name: String = "apple")
        async throws
    {
        try await fleet.bed.load((1...count).map { task("\(prefix)\($0)", name) })
    }

    /// Each document was written once after it was loaded.
    private static func expectOneWrite(_ fleet: EngineTestBed, _ ids: [DocumentID]) async throws {
        for id in ids {
            let revision = try await fleet.bed.stored(id)?.root["_rev"]?.string
            #expect(revision?.hasPrefix("2-") == true, "\(id): \(revision ?? "none")")
        }
    }

    private static func deadLetters(_ fleet: EngineTestBed) throws -> [DeadLetter] {
        let ledger = try EngineState.openExisting(
            try fleet.engine(), directory: fleet.bed.directory, access: .readOnly)
        defer { ledger.close() }
        return try ledger.deadLetters()
    }

    // MARK: - The engine

    /// The last hour of the engine is lost; changes of that hour are decided again.
    @Test func fleetOfARestoredDumpContinuesThere() async throws {
        try await EngineTestBed.with(countsRevisions: true) { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.sharing(rules, members: 1...2) { _ in
                try await Self.load(fleet, "a", 30)
                try await fleet.bed.wait(until: Self.ids("a", 30), fleet.isDone)
            }
            let schema = try fleet.engine().schema
            let dump = try fleet.server.dump(schema: schema)
            try await fleet.sharing(rules, members: 1...2) { _ in
                try await Self.load(fleet, "b", 30)
                try await fleet.bed.wait(until: Self.ids("b", 30), fleet.isDone)
            }
            try await Self.load(fleet, "c", 30)
            try await fleet.administer("DROP SCHEMA \"\(schema)\" CASCADE")
            try fleet.server.restore(dump)
            try await fleet.sharing(rules, members: 1...2) { _ in
                try await Self.load(fleet, "d", 30)
                try await fleet.bed.wait(until: Self.ids("c", 30) + Self.ids("d", 30), fleet.isDone)
            }
            try await Self.expectOneWrite(fleet, ["a", "b", "c", "d"].flatMap { Self.ids($0, 30) })
            #expect(try Self.deadLetters(fleet).isEmpty)
        }
    }

    /// The engine refuses new rows, as with a full disk.
    @Test func feedIsNotReadOnWhileTheEnginesDiskIsFull() async throws {
        try await EngineTestBed.with(countsRevisions: true) { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.sharing(rules, members: 1...2) { reports in
                try await Self.load(fleet, "a", 30)
                try await fleet.bed.wait(until: Self.ids("a", 30), fleet.isDone)
                try await fleet.wait(until: 0, "SELECT count(*) FROM work")
                try await fleet.administer(
                    """
                    SET search_path = "changebot_\(fleet.fleet)";
                    CREATE SEQUENCE refused;
                    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                        PERFORM nextval('"changebot_\(fleet.fleet)".refused');
                        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
                    END $$;
                    CREATE TRIGGER refuse BEFORE INSERT ON work EXECUTE FUNCTION refuse()
                    """)
                let before = try await fleet.sql("SELECT seq, n FROM fleet").rows
                try await Self.load(fleet, "b", 30)
                // The insertion was attempted repeatedly.
                try await fleet.wait(until: 1, "SELECT last_value >= 3 FROM refused")
                #expect(try await fleet.sql("SELECT seq, n FROM fleet").rows == before)
                try await fleet.sql("DROP TRIGGER refuse ON work")
                try await fleet.bed.wait(until: Self.ids("b", 30), fleet.isDone)
            }
            try await Self.expectOneWrite(fleet, Self.ids("a", 30) + Self.ids("b", 30))
        }
    }

    // MARK: - The gateway

    /// One of two members gets no answers from the gateway. Its documents wait; the other's do not.
    @Test(arguments: [TestRelay.Trouble.silence, .noAnswers, .cut, .delay(.seconds(2))])
    func memberThatCannotReachTheGatewayDelaysOnlyItsDocuments(trouble: TestRelay.Trouble) async throws {
        try await BotTestBed.withTrouble { bed, _ in
            let server = try TestPostgres.shared
            let fleet = EngineTestBed(bed: bed, server: server, fleet: server.uniqueName("line"))
            let rules = try bed.rules(EngineTestBed.apples)
            let relay = try TestRelay(to: try #require(bed.url.base.split(separator: ":").last.flatMap { Int($0) }))
            func share(_ settings: inout BotSettings, as role: FleetMember.Role) {
                settings.fleet.sharing = Sharing(role: role, partitions: 8)
            }
            let reader = try fleet.bot(rules, member: 1) { share(&$0, as: .reader) }
            let worker = try fleet.bot(rules, member: 2) { share(&$0, as: .worker) }
            let far = try fleet.bot(
                rules, member: 3, through: try GatewayURL("http://127.0.0.1:\(relay.port)/todo")
            ) { share(&$0, as: .worker) }
            try await EngineTestBed.running([reader.bot, worker.bot, far.bot]) {
                for report in [worker.report, far.report] { try await fleet.wait(until: .following, report) }
                try await fleet.wait(until: 2, "SELECT count(DISTINCT owner) FROM lease WHERE name <> 'feed'")
                try await Self.load(fleet, "a", 30)
                try await bed.wait(until: Self.ids("a", 30), fleet.isDone)
                let before = await worker.report.counters().written
                relay.suffer(trouble)
                try await Self.load(fleet, "b", 60)
                while await worker.report.counters().written < before + 10 {
                    try await Task.sleep(for: .milliseconds(20))
                }
                relay.suffer(.none)
                try await bed.wait(until: Self.ids("b", 60), fleet.isDone)
            }
            try await Self.expectOneWrite(fleet, Self.ids("a", 30) + Self.ids("b", 60))
            #expect(try Self.deadLetters(fleet).isEmpty)
        }
    }

    // MARK: - Documents

    /// A program that never ends, one that takes all memory, and a document that becomes too large.
    @Test func harmfulDocumentsBecomeDeadLettersAndNoOthers() async throws {
        try await BotTestBed.withTrouble { bed, _ in
            let server = try TestPostgres.shared
            let fleet = EngineTestBed(bed: bed, server: server, fleet: server.uniqueName("poison"))
            let rules = try bed.rules(
                EngineTestBed.apples + """

                      - name: endless
                        when: { type: endless }
                        then: [ { merge: { n: { jq: 'last(range(1e12))' } } } ]
                      - name: greedy
                        when: { type: greedy }
                        then: [ { merge: { n: { jq: 'def f: [., .] | f; f' } } } ]
                      - name: large
                        when: { type: large }
                        then: [ { merge: { n: { jq: '"x" * 4096' } } } ]

                    """)
            try await fleet.sharing(rules, members: 1...2, partitions: 4) { _ in
                try await bed.load([
                    (DocumentID("endless"), #"{"_id":"endless","type":"endless"}"#),
                    (DocumentID("greedy"), #"{"_id":"greedy","type":"greedy"}"#),
                ])
                let text = String(repeating: "x", count: 20 << 20 - 3072)
                try await bed.load([(DocumentID("large"), #"{"_id":"large","type":"large","text":"\#(text)"}"#)])
                try await Self.load(fleet, "a", 100)
                try await bed.wait(until: Self.ids("a", 100), fleet.isDone)
                try await fleet.wait(until: 3, "SELECT count(*) FROM dead_letter")
                try await Self.load(fleet, "b", 100)
                try await bed.wait(until: Self.ids("b", 100), fleet.isDone)
            }
            let letters = try Self.deadLetters(fleet)
            #expect(Set(letters.map(\.id.text)) == ["endless", "greedy", "large"], "\(letters.map(\.reason))")
            try await Self.expectOneWrite(fleet, Self.ids("a", 100) + Self.ids("b", 100))
            // None of them ended a process.
            #expect(try await fleet.sql("SELECT count(*) FROM dead_change").rows == [[.int(0)]])
        }
    }

    /// Two documents in different partitions write each other.
    @Test func loopThroughSeveralMembersEnds() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(
                """
                version: 1
                rules:
                  - name: there
                    when: { type: ping }
                    then:
                      - put:
                          id: { jq: '"pong." + (._id | ltrimstr("ping."))' }
                          document: { type: pong, n: { jq: '(.n // 0) + 1', type: integer } }
                          if_exists: replace
                  - name: back
                    when: { type: pong }
                    then:
                      - put:
                          id: { jq: '"ping." + (._id | ltrimstr("pong."))' }
                          document: { type: ping, n: { jq: '.n + 1', type: integer } }
                          if_exists: replace
                """)
            let names = (1...8).map { "\($0)" }
            try await fleet.sharing(rules, members: 1...3, configure: { $0.effectLimits = nil }) { _ in
                try await fleet.bed.load(
                    names.map { (DocumentID("ping.\($0)"), #"{"_id":"ping.\#($0)","type":"ping"}"#) })
                try await fleet.wait(until: names.count, "SELECT count(*) FROM dead_letter")
                try await fleet.wait(until: 0, "SELECT (SELECT count(*) FROM work) + (SELECT count(*) FROM parked)")
            }
            let letters = try Self.deadLetters(fleet)
            #expect(letters.allSatisfy { $0.reason.hasPrefix("rule chain: ") }, "\(letters.map(\.reason))")
            #expect(Set(letters.map { $0.id.text.suffix(1) }) == Set(names.map { $0[...] }))
        }
    }

    // MARK: - Rules

    /// The members are replaced one after the other while changes arrive. Each change is decided by one of the
    /// versions.
    @Test func rollingUpdateOfRulesLosesNothing() async throws {
        try await EngineTestBed.with(countsRevisions: true) { fleet in
            let old = try fleet.bed.rules(EngineTestBed.apples)
            let new = try fleet.bed.rules(EngineTestBed.apples.replacing("done: true", with: "done: true, by: new"))
            #expect(old.hash != new.hash)
            try await fleet.sharing(old, members: 1...1) { _ in
                try await Self.load(fleet, "a", 40)
                let (second, _) = try fleet.bot(old, member: 2) {
                    $0.fleet.sharing = Sharing(role: .auto, partitions: 16)
                }
                try await EngineTestBed.running([second]) {
                    let (third, _) = try fleet.bot(new, member: 3) {
                        $0.fleet.sharing = Sharing(role: .auto, partitions: 16)
                    }
                    try await EngineTestBed.running([third]) {
                        try await fleet.wait(until: 3, "SELECT count(DISTINCT owner) FROM lease WHERE name <> 'feed'")
                        try await Self.load(fleet, "b", 40)
                        try await fleet.bed.wait(until: Self.ids("b", 40), fleet.isDone)
                    }
                }
            }
            try await fleet.sharing(new, members: 4...5) { _ in
                try await Self.load(fleet, "c", 40)
                try await fleet.bed.wait(until: Self.ids("a", 40) + Self.ids("c", 40), fleet.isDone)
            }
            try await Self.expectOneWrite(fleet, ["a", "b", "c"].flatMap { Self.ids($0, 40) })
            let isNew = { (document: JSONText?) in document?.root["by"]?.string == "new" }
            for id in Self.ids("a", 40) { #expect(try await !isNew(fleet.bed.stored(id)), "\(id)") }
            for id in Self.ids("c", 40) { #expect(try await isNew(fleet.bed.stored(id)), "\(id)") }
        }
    }
}
