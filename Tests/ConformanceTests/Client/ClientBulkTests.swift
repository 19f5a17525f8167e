import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// Many documents at once, as the client returns them.
@Suite(.limitedParallelism) struct ClientBulkTests {
    private static func document(_ id: String, _ members: String = #""n":1"#) -> BulkDocument {
        BulkDocument(id: DocumentID(id), segments: ["{\"_id\":\(id.json),".bytes, members.bytes, "}".bytes])
    }

    @Test func eachDocumentHasItsOutcome() async throws {
        try await Workspace.with { workspace in
            let (known, stale, new) = (workspace.id("known"), workspace.id("stale"), workspace.id("new"))
            try await workspace.put(known)
            try await workspace.put(stale)
            let outcomes = try await workspace.gateway.bulkDocs([
                Self.document(known), Self.document(new), Self.document(stale, #""_rev":"1-abc""#),
            ])
            #expect(outcomes.count == 3)
            #expect(outcomes.first == .conflict && outcomes.last == .conflict)
            guard case .written(let revision) = outcomes[1] else {
                Issue.record("\(outcomes[1])")
                return
            }
            #expect(revision.generation == 1)
        }
    }

    @Test func invalidDocumentIsRejectedForGood() async throws {
        try await Workspace.with { workspace in
            let good = workspace.id("good")
            let documents = [Self.document(good), Self.document("_bad")]
            if KnownDifferences.bulkReservedID[workspace.kind].count > 1 {
                let outcomes = try await workspace.gateway.bulkDocs(documents)
                #expect(outcomes.last == .rejected(status: 400, reason: "bad_request: Invalid doc ID"))
                guard case .written? = outcomes.first else {
                    Issue.record("\(outcomes)")
                    return
                }
            } else {
                let error = await #expect(throws: GatewayError.self) {
                    try await workspace.gateway.bulkDocs(documents)
                }
                #expect(error?.code == .badRequest)
            }
        }
    }

    @Test func storedRevisionsHaveOutcomes() async throws {
        try await Workspace.with { workspace in
            let id = workspace.id("doc")
            let digests = ["a", "b"].map { String(repeating: $0, count: 32) }
            let revision = RevisionID("2-\(digests[1])")
            let history = #""_revisions":{"start":2,"ids":["\#(digests[1])","\#(digests[0])"]}"#
            let body = Self.document(id, #""_rev":"\#(revision)",\#(history)"#)
            for _ in 0..<2 {
                let outcomes = try await workspace.gateway.storeRevisions([.init(body, revision: revision)])
                #expect(outcomes == [.written(revision)])
            }
            let stored = try await workspace.gateway.document(DocumentID(id), with: .history)
            #expect(stored?.root["_rev"]?.string == revision.text)
            #expect(stored?.root["_revisions"]?["ids"]?.elements.map(\.string) == [digests[1], digests[0]])
        }
    }

    @Test func keysAreReadInOrder() async throws {
        try await Workspace.with { workspace in
            let (found, missing, deleted) = (workspace.id("found"), workspace.id("missing"), workspace.id("deleted"))
            let revision = try await workspace.put(found, #"{"n":1.5}"#)
            try await workspace.delete(deleted, try await workspace.put(deleted))
            let lookups = try await workspace.gateway.allDocs(
                keys: [deleted, found, missing].map { DocumentID($0) })
            try #require(lookups.count == 3)
            switch lookups[0] {
            case .deleted: #expect(KnownDifferences.deletedKey[workspace.kind].error == nil)
            case .missing: #expect(KnownDifferences.deletedKey[workspace.kind].error != nil)
            default: Issue.record("\(lookups[0])")
            }
            guard case .found(let current, let document) = lookups[1], case .missing = lookups[2] else {
                Issue.record("\(lookups)")
                return
            }
            #expect(current.text == revision)
            #expect(document.root["n"]?.spelling == "1.5")
        }
    }

    @Test func pagesHaveEachDocumentOnce() async throws {
        try await Workspace.with { workspace in
            let ids = try await workspace.putFour()
            _ = try await workspace.list(from: "a", to: "d", count: 4)
            var pages = DocumentPages(
                of: workspace.gateway, after: DocumentID(workspace.prefix), pageSize: 2)
            var seen: [ListedDocument] = []
            while seen.count < 4, let batch = try await pages.next() { seen += Array(batch) }
            #expect(seen.prefix(4).map(\.id.text) == ids)
            #expect(seen.prefix(4).allSatisfy { $0.kind == .document && $0.revision?.generation == 1 })
            #expect(seen.prefix(4).map { $0.document?["n"]?.integer } == [0, 1, 2, 3])
        }
    }

    @Test func revisionsAreReadByIDAndRefusedByID() async throws {
        try await Workspace.with { workspace in
            let (id, missing) = (workspace.id("doc"), workspace.id("missing"))
            let revisions = try await workspace.writeGenerations(2, of: id)
            // The form of the request depends on the dialect.
            _ = try await workspace.gateway.findDialect()
            let keys = [
                BulkGetKey(id: DocumentID(id)), BulkGetKey(id: DocumentID(missing)),
                BulkGetKey(id: DocumentID(id), revision: RevisionID(revisions[0])),
            ]
            var answer = try await workspace.gateway.bulkGet(keys, includesHistory: true)
            var (found, refused): ([JSONText], [BulkGetRefusal]) = ([], [])
            while let item = try await answer.next() {
                switch item {
                case .revision(let document): found.append(document)
                case .unavailable(let refusal): refused.append(refusal)
                case .malformed(let damage): Issue.record("\(damage)")
                case .attachment: Issue.record("an attachment that was not asked for")
                }
            }
            #expect(found.map { $0.root["n"]?.integer ?? 0 }.sorted() == [1, 2])
            #expect(found.allSatisfy { $0.root["_revisions"]?["start"] != nil })
            #expect(refused.map(\.id.text) == [missing])
            #expect(refused.map(\.error) == ["not_found"])
            #expect(refused.map(\.revision) == [nil])
        }
    }

    @Test func leavesAndDifferencesAreReported() async throws {
        try await Workspace.with { workspace in
            let (id, none) = (DocumentID(workspace.id("doc")), DocumentID(workspace.id("none")))
            let revisions = try await workspace.writeGenerations(2, of: id.text).map { RevisionID($0) }
            let missing = RevisionID("7-\(String(repeating: "a", count: 32))")
            let open = try await workspace.gateway.openRevisions(of: id, [revisions[1], missing])
            #expect(open.count == 2)
            for revision in open {
                switch revision {
                case .found(let document): #expect(document.root["_rev"]?.string == revisions[1].text)
                case .missing(let revision): #expect(revision == missing)
                }
            }
            let differences = try await workspace.gateway.revisionDifferences([
                (id, [revisions[0], missing]), (none, [missing]),
            ])
            #expect(differences.map(\.id) == [id, none])
            #expect(differences.map(\.missing) == [[missing], [missing]])
            let error = await #expect(throws: GatewayError.self) {
                try await workspace.gateway.openRevisions(of: none)
            }
            #expect(error?.code == .notFound)
        }
    }
}
