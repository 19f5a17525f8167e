import Encodings
import GatewayClient
import LosslessJSON
import TestKit
import Testing

@testable import BotState
@testable import Rules

/// The record of what a bot did to each document.
@Suite(.limitedParallelism) struct LedgerTraceTests {
    private func decision(_ id: DocumentID, _ revision: String) -> TraceEntry {
        var decision = TraceEntry.Decision(.written, revision: RevisionID("1-a"))
        decision.newRevision = RevisionID(revision)
        decision.rules = ["stamp"]
        return .decision(id, decision)
    }

    private func deadLetter(_ id: DocumentID) -> DeadLetter {
        DeadLetter(sequence: nil, id: id, revision: RevisionID("1-a"), rule: "bad", reason: "it failed")
    }

    private func text(_ entry: Ledger.RecordedTrace) -> String { String(decoding: entry.details.bytes, as: UTF8.self) }

    private func kinds(_ ledger: Ledger, _ id: DocumentID) throws -> [String] { try ledger.traces(of: id).map(\.kind) }

    @Test func nothingIsTracedByDefault() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            #expect(!ledger.traces)
            try await ledger.store(Record(deadLetters: [deadLetter("a")], traces: [decision("a", "2-b")]))
            #expect(try ledger.traces(of: "a").isEmpty)
            try await ledger.keepTraces(days: 1)
            #expect(try ledger.traces(of: "a").isEmpty)
        }
    }

    @Test func entriesAreStoredWithTheRecord() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            try await ledger.keepTraces(days: 7)
            try await ledger.store(Record(traces: [decision("a", "2-b"), decision("b\0", "2-c")]))
            try await ledger.store(Record(deadLetters: [deadLetter("a")]))
            try await ledger.keep([deadLetter("c")])
            #expect(try kinds(ledger, "a") == ["decision", "dead-letter"])
            #expect(try kinds(ledger, "b\0") == ["decision"] && kinds(ledger, "c") == ["dead-letter"])
            #expect(try ledger.traces(of: "b").isEmpty)
            let entries = try ledger.traces(of: "a")
            #expect(
                text(entries[0])
                    == #"{"result":"written","revision":"1-a","new_revision":"2-b","rules":["stamp"]}"#)
            #expect(entries[0].reason == nil && entries[1].reason == "it failed")
            #expect(text(entries[1]) == #"{"number":1,"revision":"1-a","rule":"bad"}"#)
            #expect(abs(entries[0].time - Timestamp.secondsNow) < 600)
            try await ledger.store(Record(resolved: [Ledger.ResolvedDocument(id: "a")]))
            #expect(try kinds(ledger, "a").last == "dead-letters-removed")
            #expect(try ledger.traces(of: "a")[1].reason == nil)
        }
    }

    /// The trace never disagrees with the rest of the state.
    @Test func failingRecordHasNoEntries() async throws {
        try await LedgerTestBed.withLedger { _, ledger in
            try await ledger.keepTraces(days: 7)
            try await ledger.write { try $0.execute("DROP TABLE interrupted_decision") }
            await #expect(throws: StateError.self) {
                try await ledger.store(Record(survivedDocuments: ["a"], traces: [decision("a", "2-b")]))
            }
            #expect(try ledger.traces(of: "a").isEmpty)
        }
    }

    private func age(_ ledger: Ledger, days: Int) async throws {
        try await ledger.write { try $0.execute("UPDATE trace SET at = at - ?", [days * 86_400]) }
    }

    private func count(_ ledger: Ledger) async throws -> Int? {
        try await ledger.read { try $0.value(Int.self, "SELECT COUNT(*) FROM trace") }
    }

    @Test func oldEntriesAreDeletedAsNewOnesAreWritten() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            try await ledger.keepTraces(days: 7)
            try await ledger.store(Record(traces: (0..<30).map { decision(DocumentID("\($0)"), "2-b") }))
            try await age(ledger, days: 6)
            try await ledger.store(Record(traces: [decision("a", "2-b")]))
            #expect(try await count(ledger) == 31)
            try await age(ledger, days: 2)
            // A record deletes few more than it writes.
            try await ledger.store(Record(traces: [decision("a", "3-b")]))
            #expect(try await count(ledger) == 20)
            for _ in 0..<3 { try await ledger.store(Record(traces: [decision("a", "4-b")])) }
            #expect(try await count(ledger) == 5)
        }
    }

    /// A clock that was wrong must not keep entries for years.
    @Test func entriesFromTheFutureAreDeleted() async throws {
        try await LedgerTestBed.withLedger { _, ledger in
            try await ledger.keepTraces(days: 7)
            try await ledger.store(Record(traces: [decision("a", "2-b")]))
            try await age(ledger, days: -100)
            try await ledger.store(Record(traces: [decision("b", "2-b")]))
            #expect(try ledger.traces(of: "a").isEmpty && kinds(ledger, "b") == ["decision"])
        }
    }

    @Test func daysAreRememberedForOtherCommands() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            try await ledger.keepTraces(days: nil)
            #expect(try !ledger.traces && ledger.recordedTraceDays() == 0)
            try await ledger.keepTraces(days: 7)
            try await ledger.store(Record(traces: [decision("a", "2-b")]))
            try await ledger.keepTraces(days: nil)
            #expect(try ledger.traces && ledger.recordedTraceDays() == 7)
            #expect(try kinds(ledger, "a") == ["decision"])
            try await age(ledger, days: 2)
            try await ledger.keepTraces(days: 1)
            #expect(try await count(ledger) == 0)
            try await ledger.store(Record(traces: [decision("a", "2-b")]))
            // Without a trace, nothing remains.
            try await ledger.keepTraces(days: 0)
            #expect(try await count(ledger) == 0)
            #expect(try ledger.recordedTraceDays() == 0)
        }
    }

    @Test func writesOfOtherDocumentsHaveEntriesOnBothSides() async throws {
        func write(_ id: DocumentID, in keyspace: String? = nil) -> TraceEntry.OtherWrite {
            TraceEntry.OtherWrite(
                id: id, keyspace: keyspace, revision: RevisionID("1-x"), rules: ["copy"], isDeletion: false)
        }
        try await LedgerTestBed.withLedger { _, ledger in
            try await ledger.keepTraces(days: 7)
            let written =
                TraceEntry.entries(of: write("t"), causes: ["a", "b"])
                + TraceEntry.entries(of: write("t", in: "other"), causes: ["a"])
                // A total is its own cause.
                + TraceEntry.entries(of: write("total"), causes: ["total"])
            try await ledger.recordCausedRevisions([], traces: written)
            func details(_ id: DocumentID) throws -> [String] {
                try ledger.traces(of: id).map { "\($0.kind) \(text($0))" }
            }
            #expect(
                try details("t") == [
                    #"written-by-other {"new_revision":"1-x","rules":["copy"],"because_of":["a","b"]}"#
                ])
            #expect(
                try details("a") == [
                    #"wrote-other {"document":"t","new_revision":"1-x","rules":["copy"]}"#,
                    #"wrote-other {"document":"t","keyspace":"other","new_revision":"1-x","rules":["copy"]}"#,
                ])
            #expect(try details("total") == [#"written-by-other {"new_revision":"1-x","rules":["copy"]}"#])
            let many = TraceEntry.entries(of: write("m"), causes: (0..<25).map { DocumentID("c\($0)") })
            try await ledger.recordCausedRevisions([], traces: many)
            let entry = try #require(try ledger.traces(of: "m").first?.details.root)
            #expect(entry["because_of"]?.elements.count { _ in true } == 20 && entry["more"]?.integer == 5)
        }
    }
}
