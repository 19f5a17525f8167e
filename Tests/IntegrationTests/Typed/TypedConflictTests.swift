import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

@testable import TypedDocuments

/// Saves and deletions that resolve conflicts by a policy.
@Suite(.limitedParallelism) struct TypedConflictTests {
    private static let first = #""type":"note","text":"a","count":1,"more":1.0"#

    /// Another client changes a note after it was read.
    private func with(
        theirs: String, first: String = first, _ body: (TypedTestBed, inout Note) async throws -> Void
    ) async throws {
        try await TypedTestBed.with { bed in
            var note = try await changedNote("n1", theirs: theirs, first: first, bed)
            try await body(bed, &note)
        }
    }

    /// A note as it was before another client changed it.
    private func changedNote(
        _ name: String, theirs: String, first: String = first, _ bed: TypedTestBed
    ) async throws -> Note {
        let revision = try await bed.put(name, first)
        let note = try #require(try await bed.note(name))
        try await bed.put(name, theirs, replacing: revision)
        return note
    }

    @Test(arguments: [ConflictPolicy.merge, .deletesWin]) func bothChangesSurvive(policy: ConflictPolicy) async throws {
        try await with(theirs: #""type":"note","text":"a","count":2,"more":1.10,"new":true"#) { bed, note in
            note.text = "mine"
            guard case .saved(let revision) = try await bed.keyspace.save(&note, onConflict: policy) else {
                Issue.record("not saved")
                return
            }
            #expect(note.text == "mine" && note.count == 2)
            #expect(note.revision == revision && revision.generation == 3)
            let document = try await bed.text("n1")
            #expect(document["text"]?.string == "mine" && document["count"]?.integer == 2)
            #expect(document["new"]?.bool == true)
            // The value has the document's content.
            note.count = 5
            _ = try await bed.keyspace.save(&note)
            #expect(try await bed.text("n1")["new"]?.bool == true)
        }
    }

    @Test func savedValueWinsWithoutDates() async throws {
        try await with(theirs: #""type":"note","text":"theirs","count":1"#) { bed, note in
            note.text = "mine"
            _ = try await bed.keyspace.save(&note, onConflict: .merge)
            #expect(try await bed.text("n1")["text"]?.string == "mine")
        }
    }

    @Test(arguments: ["2026-11-20T10:00:00Z", "2026-11-24T10:00:00Z"]) func laterDateWins(date: String) async throws {
        let first = #""type":"note","text":"a","at":"2026-11-21T10:00:00Z""#
        try await with(theirs: #""type":"note","text":"theirs","at":"\#(date)""#, first: first) { bed, note in
            note.text = "mine"
            note.at = Date(timeIntervalSince1970: 1_795_428_000)
            let outcome = try await bed.keyspace.save(&note, onConflict: .lastUpdateWins(by: "at"))
            let isLater = date.contains("-24T")
            if case .unchanged = outcome { #expect(isLater) } else { #expect(!isLater) }
            #expect(note.text == (isLater ? "theirs" : "mine"))
            let document = try await bed.text("n1")
            #expect(document["text"]?.string == note.text && document["_rev"]?.string == note.revision?.text)
        }
    }

    @Test func deletionWinsOrLoses() async throws {
        for (policy, survives) in [(ConflictPolicy.deletesWin, false), (.merge, true), (.lastUpdateWins, true)] {
            try await with(theirs: #""_deleted":true"#) { bed, note in
                note.text = "mine"
                let outcome = try await bed.keyspace.save(&note, onConflict: policy)
                if case .saved(let revision) = outcome {
                    #expect(survives && note.revision == revision)
                    #expect(try await bed.note("n1") == note)
                    return
                }
                guard case .conflict(with: .deleted) = outcome else {
                    Issue.record("\(outcome)")
                    return
                }
                #expect(!survives)
                #expect(try await bed.note("n1") == nil)
            }
        }
    }

    @Test func picturesOfBothSidesSurvive() async throws {
        try await TypedTestBed.with { bed in
            var note = Note(origin: DocumentOrigin(bed.id("n1")), text: "a")
            _ = try await bed.keyspace.save(&note)
            try await bed.other.putAttachment(
                "theirs", of: bed.id("n1"), revision: note.revision, contentType: "text/plain", segments: [[1, 2]])
            note.picture = Attachment([3, 4], contentType: "image/png")
            guard case .saved = try await bed.keyspace.save(&note, onConflict: .merge) else {
                Issue.record("not saved")
                return
            }
            #expect(try await bed.other.attachment("theirs", of: bed.id("n1")) == [1, 2])
            #expect(try await bed.other.attachment("picture", of: bed.id("n1")) == [3, 4])
            // An attachment that stays is not sent again, and one that was removed here is deleted.
            let stale = note
            _ = try await bed.put("n1", #""type":"note","text":"b","_attachments":{}"#, replacing: note.revision)
            note = stale
            note.count = 2
            guard case .saved = try await bed.keyspace.save(&note, onConflict: .merge) else {
                Issue.record("not saved")
                return
            }
            #expect(note.picture == nil && note.text == "b" && note.count == 2)
        }
    }

    /// The result of a merge must fit the type and its rules.
    @Test func invalidResultIsNotWritten() async throws {
        struct Disorder: Error {}
        struct Pair: DocumentCodable {
            static let conflictPolicy = ConflictPolicy.merge
            var origin = DocumentOrigin()
            var low: Int
            var high: Int

            func validate() throws { if low > high { throw Disorder() } }
        }
        try await TypedTestBed.with { bed in
            let revision = try await bed.put("n1", #""low":1,"high":9"#)
            var pair = try #require(try await bed.keyspace.document(bed.id("n1"), as: Pair.self))
            try await bed.put("n1", #""low":1,"high":3"#, replacing: revision)
            pair.low = 5
            guard
                case .conflict(with: .document(let theirs)) = try await bed.keyspace.save(&pair, onConflict: .declared)
            else {
                Issue.record("no conflict")
                return
            }
            #expect(theirs.high == 3 && pair.low == 5)
            pair.low = 2
            guard case .saved = try await bed.keyspace.save(&pair, onConflict: .declared) else {
                Issue.record("not saved")
                return
            }
            #expect(pair.low == 2 && pair.high == 3)
        }
    }

    @Test func documentOfAnotherTypeStays() async throws {
        try await with(theirs: #""type":"note","text":5"#) { bed, note in
            note.text = "mine"
            guard case .conflict(with: .undecodable) = try await bed.keyspace.save(&note, onConflict: .merge) else {
                Issue.record("no conflict")
                return
            }
        }
    }

    @Test func conflictIsReportedWithoutAPolicy() async throws {
        try await with(theirs: #""type":"note","text":"theirs""#) { bed, note in
            note.text = "mine"
            guard case .conflict = try await bed.keyspace.save(&note, onConflict: .declared) else {
                Issue.record("no conflict")
                return
            }
        }
    }

    /// In one keyspace: if tests share one, each waits for its turn.
    @Test func deletionsFollowThePolicy() async throws {
        let cases: [(policy: ConflictPolicy, survives: Bool)] = [
            (.deletesWin, false), (.merge, true), (.lastUpdateWins, false),
        ]
        try await TypedTestBed.with { bed in
            for (index, (policy, survives)) in cases.enumerated() {
                let name = "n\(index)"
                let note = try await changedNote(name, theirs: #""type":"note","text":"theirs""#, bed)
                let outcome = try await bed.keyspace.delete(note, onConflict: policy)
                if case .saved = outcome { #expect(!survives) } else { #expect(survives) }
                #expect((try await bed.note(name) != nil) == survives)
            }
            let note = try await changedNote("deleted", theirs: #""_deleted":true"#, bed)
            guard case .unchanged = try await bed.keyspace.delete(note, onConflict: .deletesWin) else {
                Issue.record("not unchanged")
                return
            }
        }
    }
}
