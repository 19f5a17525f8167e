import LosslessJSON
import TestKit
import Testing

/// `_bulk_docs`.
@Suite(.limitedParallelism) struct BulkWriteTests {
    @Test func eachDocumentHasItsRow() async throws {
        try await Workspace.with { workspace in
            let ids = ["b", "a", "c"].map(workspace.id)
            let docs = ids.map { "{\"_id\":\($0.json),\"n\":1}" } + [#"{"made":true}"#]
            let reply = try await workspace.bulk(docs)
            #expect(reply.status == 201)
            let rows = reply.elements()
            #expect(rows.count == 4)
            #expect(rows.prefix(3).map { $0["id"]?.string } == ids)
            #expect(rows.allSatisfy { $0["rev"]?.string?.hasPrefix("1-") == true && $0["error"] == nil })
            let hasOK = KnownDifferences.rowsHaveOK[workspace.kind]
            #expect(rows.allSatisfy { ($0["ok"]?.bool == true) == hasOK })
            let assignedID = try #require(rows.last?["id"]?.string)
            workspace.note(assignedID)
            #expect(try await workspace.send("GET", workspace.path(assignedID))["made"]?.bool == true)
        }
    }

    @Test func conflictConcernsOnlyItsRow() async throws {
        try await Workspace.with { workspace in
            let (known, other, new) = (workspace.id("known"), workspace.id("other"), workspace.id("new"))
            try await workspace.put(known, #"{"n":1}"#)
            try await workspace.put(other, #"{"n":1}"#)
            let reply = try await workspace.bulk([
                #"{"_id":"\#(known)","n":2}"#, #"{"_id":"\#(other)","_rev":"1-abc","n":2}"#,
                #"{"_id":"\#(new)","n":2}"#,
            ])
            #expect(reply.status == 201)
            let rows = reply.elements()
            #expect(rows.map { $0["id"]?.string } == [known, other, new])
            #expect(rows.prefix(2).map(Outcome.init(row:)) == KnownDifferences.rowsOfConflicts[workspace.kind])
            #expect(rows.last?["rev"]?.string?.hasPrefix("1-") == true)
            #expect(try await workspace.send("GET", workspace.path(known))["n"]?.integer == 1)
        }
    }

    @Test func updatesAndDeletionsGoTogether() async throws {
        try await Workspace.with { workspace in
            let (kept, gone) = (workspace.id("kept"), workspace.id("gone"))
            let revisions = [try await workspace.put(kept), try await workspace.put(gone)]
            let reply = try await workspace.bulk([
                #"{"_id":"\#(kept)","_rev":"\#(revisions[0])","n":2}"#,
                #"{"_id":"\#(gone)","_rev":"\#(revisions[1])","_deleted":true}"#,
            ])
            #expect(reply.elements().allSatisfy { $0["rev"]?.string?.hasPrefix("2-") == true })
            #expect(try await workspace.send("GET", workspace.path(kept))["n"]?.integer == 2)
            let deleted = try await workspace.send("GET", workspace.path(gone))
            #expect(deleted.outcome == .refused(404, "not_found", "deleted"))
        }
    }

    @Test func oneRequestTakesManyDocuments() async throws {
        try await Workspace.with { workspace in
            let ids = (0..<500).map { workspace.id("n\($0)") }
            let reply = try await workspace.bulk(ids.map { #"{"_id":"\#($0)"}"# })
            #expect(reply.elements().map { $0["id"]?.string } == ids)
            #expect(reply.elements().allSatisfy { $0["rev"]?.string != nil })
            let page = try await workspace.changes(until: ids)
            #expect(Set(page.own(workspace).map(\.id)) == Set(ids))
        }
    }

    @Test func noDocumentsAreNoError() async throws {
        try await Workspace.with { workspace in
            let reply = try await workspace.bulk([])
            #expect(reply.status == 201)
            #expect(reply.json?.kind == .array && reply.elements().isEmpty)
        }
    }

    /// An invalid document after two valid ones.
    struct BadDocument: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let document: String
        /// The outcomes of the three rows, or of the whole request.
        let expected: Expected<[Outcome]>
    }

    static let badDocuments: [BadDocument] = [
        .init(
            testDescription: "a reserved id", document: #"{"_id":"_bad"}"#,
            expected: KnownDifferences.bulkReservedID),
        .init(testDescription: "an empty id", document: #"{"_id":""}"#, expected: KnownDifferences.bulkEmptyID),
        .init(
            testDescription: "a number as id", document: #"{"_id":5}"#, expected: KnownDifferences.bulkNumberAsID),
        .init(
            testDescription: "a reserved member", document: #"{"_id":"{new}","_foo":1}"#,
            expected: KnownDifferences.bulkReservedMember),
        .init(
            testDescription: "an attachment that is not base64",
            document: #"{"_id":"{new}","_attachments":{"x":{"data":"***not base64***"}}}"#,
            expected: KnownDifferences.bulkBadBase64),
    ]

    @Test(arguments: badDocuments) func badDocumentIsRefused(_ bad: BadDocument) async throws {
        try await Workspace.with { workspace in
            let good = ["a", "b"].map(workspace.id)
            let document = bad.document.replacing("{new}", with: workspace.id("new"))
            let reply = try await workspace.bulk(good.map { #"{"_id":"\#($0)"}"# } + [document])
            let rows = reply.elements()
            for row in rows { workspace.note(row["id"]?.string ?? "") }
            let outcomes = reply.status == 201 ? rows.map(Outcome.init(row:)) : [reply.outcome]
            let expected = bad.expected[workspace.kind]
            #expect(outcomes.count == expected.count)
            for (outcome, expected) in zip(outcomes, expected) {
                #expect(outcome.fits(expected), "\(outcome) instead of \(expected)")
            }
        }
    }

    static let refusals: [RequestCase] = [
        .init(
            "what is no document", "POST", "/_bulk_docs", #"{"docs":[1,{"_id":"{new}"}]}"#,
            goes: KnownDifferences.bulkNotObject),
        .init("no docs", "POST", "/_bulk_docs", "{}", goes: KnownDifferences.bulkWithoutDocs),
        .init("docs that are no array", "POST", "/_bulk_docs", #"{"docs":5}"#, goes: KnownDifferences.bulkDocsNotArray),
        .init("half a request", "POST", "/_bulk_docs", #"{"docs":["#, goes: KnownDifferences.badJSON),
        .init("a wrong method", "GET", "/_bulk_docs", goes: KnownDifferences.wrongMethod),
    ]

    @Test(arguments: refusals) func exchangeHasTheExpectedAnswer(_ request: RequestCase) async throws {
        try await request.run()
    }
}

extension Workspace {
    func bulk(_ documents: [String], storing: Bool = false) async throws -> Reply {
        let options = storing ? #""new_edits":false,"# : ""
        return try await send("POST", "/_bulk_docs", "{\(options)\"docs\":[\(documents.joined(separator: ","))]}")
    }
}
