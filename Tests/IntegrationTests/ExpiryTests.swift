import Bots
import DocumentFlow
import EmbeddedGateway
import Foundation
import GatewayClient
import Logging
import LosslessJSON
import Rules
import TestKit
import Testing
import Transfer

/// Documents with `_exp`, which Sync Gateway clears with each write that lacks it.
@Suite(.limitedParallelism) struct ExpiryTests {
    private static let time = #""2035-01-31T00:00:00Z""#

    private func with(keeps: Bool = true, _ body: (BotTestBed) async throws -> Void) async throws {
        try await BotTestBed.withEmbedded { bed in
            var bed = bed
            bed.settings.keepsExpiry = keeps
            try await body(bed)
        }
    }

    private func expiry(_ id: DocumentID, _ bed: BotTestBed) async throws -> String? {
        try await bed.phone.expiry(of: id).expiry.map { String(decoding: $0, as: UTF8.self) }
    }

    private func document(_ id: String, _ members: String = "", expires: Bool = true) -> (id: DocumentID, body: String)
    {
        (DocumentID(id), #"{"_id":"\#(id)","type":"task"\#(members)\#(expires ? ",\"_exp\":\(Self.time)" : "")}"#)
    }

    @Test(arguments: ["merge: {seen: true}", "patch: [{op: add, path: /seen, value: true}]"])
    func ruleKeepsTheExpiryOfTheChangedDocument(action: String) async throws {
        let rules = "{version: 1, rules: [{name: a, when: {type: task}, then: [{\(action)}]}]}"
        for run in ["run", "fix"] {
            try await with { bed in
                let rules = try bed.rules(rules)
                try await bed.load([document("a"), document("b", expires: false)])
                let counters = run == "run" ? try await bed.runOnce(rules) : try await bed.fix(rules)
                #expect(counters.written == 2)
                #expect(try await expiry("a", bed) == Self.time)
                #expect(try await expiry("b", bed) == nil)
            }
        }
    }

    @Test func expiryIsLostUnlessConfigured() async throws {
        try await with(keeps: false) { bed in
            let rules = try bed.rules(
                "{version: 1, rules: [{name: a, when: {type: task}, then: [merge: {seen: true}]}]}")
            try await bed.load([document("a")])
            #expect(try await bed.runOnce(rules).written == 1)
            #expect(try await expiry("a", bed) == nil)
        }
    }

    @Test(arguments: ["merge", "replace"])
    func otherDocumentsKeepTheirExpiry(existing: String) async throws {
        try await with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: a
                    when: { type: list }
                    then:
                      - put: { id: p, document: { type: task, n: 2 }, if_exists: \(existing) }
                      - related: { selector: { type: other }, then: [{ merge: { seen: true } }] }
                """)
            try await bed.load([
                document("p"), ("l", #"{"_id":"l","type":"list"}"#),
                ("o", #"{"_id":"o","type":"other","_exp":\#(Self.time)}"#),
            ])
            #expect(try await bed.runOnce(rules).written == 2)
            #expect(try await bed.stored("p")?.root["n"]?.integer == 2)
            #expect(try await expiry("p", bed) == Self.time)
            #expect(try await bed.stored("o")?.root["seen"]?.bool == true)
            #expect(try await expiry("o", bed) == Self.time)
            #expect(try await bed.runOnce(rules, state: "again").written == 0)
        }
    }

    @Test func totalsKeepTheirExpiry() async throws {
        try await with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: count
                    when: { type: task }
                    then: [{ aggregate: { into: total, count: { n: true } } }]
                """)
            try await bed.load([
                document("a"), ("total", #"{"_id":"total","type":"total","n":0,"_exp":\#(Self.time)}"#),
            ])
            try await bed.runOnce(rules)
            #expect(try await bed.stored("total")?.root["n"]?.integer == 1)
            #expect(try await expiry("total", bed) == Self.time)
        }
    }

    @Test func ruleSetsAnExpiryOnce() async throws {
        // The rule alone is enough, because it needs the current expiry.
        try await with(keeps: false) { bed in
            let rules = try bed.rules("{version: 1, rules: [{name: a, when: {type: task}, then: [expire: 30d]}]}")
            try await bed.load([document("a"), document("b", expires: false)])
            #expect(try await bed.runOnce(rules).written == 1)
            #expect(try await expiry("a", bed) == Self.time)
            let set = try await expiry("b", bed)
            #expect(set != nil)
            #expect(try await bed.runOnce(rules, state: "again").written == 0)
            #expect(try await bed.fix(rules).written == 0)
            #expect(try await expiry("b", bed) == set)
        }
    }

    @Test func ruleRemovesAnExpiryOnce() async throws {
        try await with(keeps: false) { bed in
            let rules = try bed.rules(
                "{version: 1, rules: [{name: a, when: {_exp: {$exists: true}}, then: [expire: never]}]}")
            try await bed.load([document("a"), document("b", expires: false)])
            #expect(try await bed.preview(rules).count == 1)
            #expect(try await bed.runOnce(rules).written == 1)
            #expect(try await expiry("a", bed) == nil)
            #expect(try await bed.runOnce(rules, state: "again").written == 0)
        }
    }

    @Test(arguments: [ImportMode.upsert, .merge])
    func importKeepsTheExpiryOfChangedDocuments(mode: ImportMode) async throws {
        try await with { bed in
            try await bed.load([document("a"), document("b")])
            let lines = [
                #"{"_id":"a","type":"task","n":1}"#, #"{"_id":"b","type":"task","_exp":"2036-01-01T00:00:00Z"}"#,
            ]
            try await bed.load(lines: lines) { $0.mode = mode }
            #expect(try await bed.stored("a")?.root["n"]?.integer == 1)
            #expect(try await expiry("a", bed) == Self.time)
            #expect(try await expiry("b", bed) == #""2036-01-01T00:00:00Z""#)
            let again = try await bed.load(lines: lines) { settings in
                settings.mode = mode
                settings.isResuming = false
            }
            #expect(again.counts.unchanged == 2)
        }
    }

    @Test func exportedExpiryIsRestoredByImport() async throws {
        try await with { source in
            try await source.load([document("a"), document("b", expires: false)])
            try await source.export("out.ndjson")
            let lines = try source.lines("out.ndjson")
            #expect(lines.count { $0.contains(#""_exp":"2035-01-31T00:00:00Z""#) } == 1)
            try await with(keeps: false) { target in
                try await target.load(lines: lines) { $0.mode = .restore }
                #expect(try await expiry("a", target) == Self.time)
                #expect(try await expiry("b", target) == nil)
            }
        }
    }

    @Test func resolvedConflictKeepsItsExpiry() async throws {
        try await BotTestBed.withFile { bed in
            var bed = bed
            bed.settings.keepsExpiry = true
            try await bed.store("a", "b", #","n":0,"m":0"#)
            try await bed.store("a", "c b", #","n":2,"m":0,"_exp":\#(Self.time)"#)
            try await bed.store("a", "d b", #","n":0,"m":3,"_exp":\#(Self.time)"#)
            let settings = ResolveSettings(policies: try ConflictPolicies(["merge"], dateMember: "updatedAt"))
            let report = ResolveReport(isDryRun: false)
            try await Resolver(
                gateway: Gateway(bed.url, settings: bed.settings), settings: settings, report: report,
                logger: BotTestBed.logger, show: { _ in }
            ).run()
            #expect(report.state.resolved == 1)
            #expect(try await bed.stored("a")?.root["m"]?.integer == 3)
            #expect(try await expiry("a", bed) == Self.time)
        }
    }

    @Test func replicationCarriesTheExpiry() async throws {
        try await with { source in
            try await source.load([document("a"), document("b", expires: false)])
            try await with(keeps: false) { target in
                let counts = try await source.replicate(to: target).counts
                #expect(counts.written == 2)
                #expect(try await expiry("a", target) == Self.time)
                #expect(try await expiry("b", target) == nil)
            }
        }
    }

    @Test(arguments: [true, false])
    func unsupportedExpiryIsWarnedOfOnceAndCounted(keeps: Bool) async throws {
        try await with(keeps: keeps) { source in
            try await source.load([document("a"), document("b", expires: false), document("c")])
            try await BotTestBed.withFile { target in
                var target = target
                target.settings.dialect = .couchDB
                let seen = EventCounter()
                let words = "documents of the source expire, but this target does not support expiry"
                let state = try await source.replicate(
                    to: target, logger: Logger(label: "test") { _ in Witness(words: words, seen: seen) })
                #expect(state.counts.written == 3 && state.counts.failed == 0)
                #expect(state.counts.lostExpiries == (keeps ? 2 : 0))
                #expect(seen.count == 1)
                #expect(try await target.stored("a")?.root["_exp"] == nil)
            }
        }
    }

    @Test(arguments: [true, false])
    func writeToAnExpiringDocumentIsWarnedOfOnce(keeps: Bool) async throws {
        try await with(keeps: keeps) { bed in
            try await bed.load([document("a")])
            let gateway = Gateway(bed.url, settings: bed.settings)
            let revision = try #require(try await bed.stored("a")?.root["_rev"]?.string)
            let seen = EventCounter()
            let logger = Logger(label: "test") { _ in Witness(words: "documents of this database expire", seen: seen) }
            let watch = ExpiryWatch()
            let body = #"{"_id":"a","_rev":"\#(revision)"}"#
            for _ in 0..<3 {
                await watch.check([BulkDocument(id: "a", segments: [Array(body.utf8)])], at: gateway, logger)
            }
            #expect(seen.count == (keeps ? 0 : 1))
            await gateway.shutdown()
        }
    }
}
