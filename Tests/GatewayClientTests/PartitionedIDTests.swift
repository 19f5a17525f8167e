import TestKit
import Testing

@testable import GatewayClient

/// Ids in partitioned CouchDB databases, as CouchDB 3.5 accepts or refuses them.
@Suite(.limitedParallelism) struct PartitionedIDTests {
    @Test(arguments: ["a:b", "a:b:c", "a::", "_design/app", "_local/x", "a:_design/x", "é:ü"])
    func validIDsAreAccepted(id: String) {
        #expect(PartitionedID.error(of: DocumentID(id)) == nil)
    }

    @Test(arguments: ["a", "", ":b", "a:", "_a:b", "a:_b", "t-1"])
    func invalidIDsAreRefused(id: String) {
        #expect(PartitionedID.error(of: DocumentID(id))?.contains("partitioned") == true)
    }

    private static let partitioned =
        #"{"db_name":"todo","instance_start_time":"1","purge_seq":"0","update_seq":"0","props":{"partitioned":true}}"#

    private func document(_ id: String) -> BulkDocument {
        BulkDocument(id: DocumentID(id), segments: [Array(#"{"_id":"\#(id)"}"#.utf8)])
    }

    @Test func onlyIdsWithPartitionsAreSent() async throws {
        let scripted = try ScriptedGateway { connection, request in
            guard request.method == "POST" else {
                return try connection.answer(headers: couchDB, body: Self.partitioned)
            }
            #expect(request.text.contains("a:1") && !request.text.contains(#""b""#))
            try connection.answer(201, headers: couchDB, body: #"[{"ok":true,"id":"a:1","rev":"1-x"}]"#)
        }
        _ = try await scripted.gateway.databaseInfo()
        let outcomes = try await scripted.gateway.bulkDocs([document("b"), document("a:1"), document("c")])
        #expect(outcomes[1] == .written(RevisionID("1-x")))
        for index in [0, 2] {
            guard case .rejected(status: 400, let reason) = outcomes[index] else {
                Issue.record("\(outcomes[index])")
                continue
            }
            #expect(reason.contains("partition"))
        }
    }

    @Test func nothingIsSentWithoutValidIDs() async throws {
        let scripted = try ScriptedGateway { connection, request in
            if request.method != "GET" { Issue.record("a request was sent: \(request.method)") }
            try connection.answer(headers: couchDB, body: Self.partitioned)
        }
        _ = try await scripted.gateway.databaseInfo()
        #expect(try await scripted.gateway.bulkDocs([document("b")]).count == 1)
        await #expect(throws: GatewayError.self) {
            try await scripted.gateway.put("b", body: Array("{}".utf8))
        }
    }

    /// One id without a partition would refuse the whole request.
    @Test func readsAndComparisonsLeaveIdsWithoutPartitionsOut() async throws {
        let scripted = try ScriptedGateway { connection, request in
            guard request.method == "POST" else {
                return try connection.answer(headers: couchDB, body: Self.partitioned)
            }
            #expect(request.text.contains("a:1") && !request.text.contains(#""b""#))
            let isComparison = request.target.contains("_revs_diff")
            try connection.answer(
                headers: couchDB,
                body: isComparison ? "{}" : #"{"rows":[{"key":"a:1","error":"not_found"}]}"#)
        }
        _ = try await scripted.gateway.databaseInfo()
        let lookups = try await scripted.gateway.allDocs(keys: ["b", "a:1"])
        guard case .refused(let reason) = lookups[0], case .missing = lookups[1] else {
            Issue.record("\(lookups)")
            return
        }
        #expect(reason.contains("has no partition"))
        let differences = try await scripted.gateway.revisionDifferences([
            (id: "b", revisions: [RevisionID("1-b")]), (id: "a:1", revisions: [RevisionID("1-a")]),
        ])
        #expect(differences[0].missing == [RevisionID("1-b")] && differences[1].missing.isEmpty)
    }

    @Test func slashOfDesignDocumentsIsNotEscaped() async throws {
        let scripted = try ScriptedGateway { connection, request in
            #expect(request.target == "/todo/_design/a%2Fpp/logo%20x.png?rev=1-a")
            try connection.answer(201, headers: couchDB, body: #"{"id":"t1","ok":true,"rev":"2-b"}"#)
        }
        let revision = try await scripted.gateway.putAttachment(
            "logo x.png", of: "_design/a/pp", revision: RevisionID("1-a"), contentType: "image/png",
            source: ByteSource(count: 0) { nil })
        #expect(revision.text == "2-b")
    }
}
