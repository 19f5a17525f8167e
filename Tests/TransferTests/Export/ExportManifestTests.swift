import GatewayClient
import LosslessJSON
import Testing

@testable import Transfer

@Suite struct ExportManifestTests {
    private func text(_ text: String) throws -> JSONValue { try JSONText(text).root }

    private func manifest(_ change: (inout ExportManifest) -> Void = { _ in }) throws -> ExportManifest {
        let server = #"{"name":"couchdb","version":"3.5.0","identity":"u1"}"#
        let value = try text(
            """
            {"version":1,"tool":"t","server":\(server),"gateway":"http://h","keyspace":"todo",
             "database":{"instance":"7","purge_sequence":"0"},"source":"_changes","from_sequence":null,
             "to_sequence":"9-x","count":3,"bytes":10,"sha256":"ab",
             "options":{"format":"json","gzip":true,"attachments":"folder","folder":"d","channels":["a","b"],"since":5}}
            """)
        var manifest = try #require(ExportManifest(value))
        change(&manifest)
        return manifest
    }

    @Test func manifestIsReadAsWritten() throws {
        let manifest = try manifest { manifest in
            manifest.options.selector = #"{"a":"\u0000\""}"#
            manifest.counts.missingBodies = 4
            manifest.from = SequenceID("2::5")
        }
        #expect(ExportManifest(try JSONText(manifest.json).root) == manifest)
        var sampled = manifest
        for number in 0..<12 { sampled.facts.sample.note(DocumentID("d\"\(number)")) }
        #expect(sampled.facts.sample.ids.count == 10)
        #expect(ExportManifest(try JSONText(sampled.json).root) == sampled)
        #expect(manifest.options.channels == ["a", "b"])
        #expect(manifest.options.attachments == .folder("d"))
        #expect(manifest.to?.description == #""9-x""#)
    }

    @Test(arguments: [
        ExportJournal.Position.beginning, .whole, .document("a\"\u{0}\n/é"),
        .sequence(SequenceID("7-g1AAAA") ?? .start, isSecondReading: true), .sequence(.start, isSecondReading: false),
    ])
    func journalRestoresPosition(position: ExportJournal.Position) throws {
        var journal = ExportJournal(manifest: try manifest())
        journal.position = position
        journal.saved = ExportOutput.SavePoint(byteCount: 12, sha256: "cd")
        journal.replaced = position == .whole ? try manifest { $0.byteCount = 7 } : nil
        let read = try #require(ExportJournal(try JSONText(journal.json).root))
        #expect(read == journal)
    }

    @Test(arguments: [
        "{}", "[]", #"{"version":2}"#, #"{"version":1,"source":"_all_docs","count":1,"bytes":1,"sha256":""}"#,
    ])
    func invalidManifestsAreRejected(json: String) throws {
        #expect(ExportManifest(try text(json)) == nil)
    }

    private typealias Change = @Sendable (inout DatabaseFacts) -> Void

    @Test func detectableResetsAreReported() throws {
        let then = try manifest().facts
        func factsNow(_ change: Change) -> DatabaseFacts {
            var facts = then
            change(&facts)
            return facts
        }
        #expect(then.mismatch(with: factsNow { $0.newest = SequenceID("12-y") }) == nil)
        #expect(then.mismatch(with: factsNow { $0.gateway = "http://elsewhere" }) == nil)
        let mismatches: [Change] = [
            { $0.keyspace = "other" }, { $0.dialect = .syncGateway }, { $0.serverIdentity = "u2" },
            { $0.instance = "8" }, { $0.newest = SequenceID("3-z") },
        ]
        for change in mismatches { #expect(then.mismatch(with: factsNow(change)) != nil) }
    }

    @Test(arguments: [("0-a", "0-b", false), ("0-a", "3-a", true), ("0", "0", false)])
    func purgedDocumentsAreReported(then: String, now: String, isLogged: Bool) throws {
        var facts = try [manifest().facts, manifest().facts]
        (facts[0].purgeSequence, facts[1].purgeSequence) = (then, now)
        #expect((facts[0].warning(about: facts[1]) != nil) == isLogged)
    }

    @Test func changedInstanceOnSyncGatewayIsOnlyAWarning() throws {
        var then = try manifest().facts
        then.dialect = .syncGateway
        then.newest = SequenceID("100")
        var now = then
        now.instance = "9"
        now.newest = SequenceID("120")
        #expect(then.mismatch(with: now) == nil)
        #expect(then.warning(about: now) != nil)
        #expect(then.warning(about: then) == nil)
        now.newest = SequenceID("50")
        #expect(then.mismatch(with: now) != nil)
    }
}
