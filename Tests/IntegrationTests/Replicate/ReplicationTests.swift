import DocumentFlow
import EmbeddedGateway
import Foundation
import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing
import Transfer

/// Replications between two databases: one on the server that the environment names, or else on an embedded gateway;
/// the other on an embedded gateway.
@Suite(.limitedParallelism) struct ReplicationTests {
    /// Documents of every kind, except conflicts.
    private func fill(_ bed: BotTestBed) async throws {
        try await bed.load((0..<30).map { (DocumentID("d\($0)"), #"{"_id":"d\#($0)","n":\#($0)}"#) })
        let first = try await bed.phone.put("edited", body: Array(#"{"n":1}"#.utf8))
        try await bed.phone.put("edited", body: Array(#"{"_rev":"\#(first.text)","n":2}"#.utf8))
        let doomed = try await bed.phone.put("gone", body: Array("{}".utf8))
        try await bed.phone.put("gone", body: Array(#"{"_rev":"\#(doomed.text)","_deleted":true}"#.utf8))
        try await bed.phone.put(
            "small", body: Array(#"{"_attachments":{"x":{"data":"aGVsbG8=","content_type":"text/plain"}}}"#.utf8))
        let bytes = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }
        try await bed.phone.putAttachment(
            "large", of: "large", revision: nil, contentType: "application/octet-stream", segments: [bytes])
    }

    private func text(_ value: JSONValue?) -> String { String(decoding: value?.bytes ?? [], as: UTF8.self) }

    @Test func targetGetsEveryLeafWithItsAttachments() async throws {
        try await BotTestBed.withTwo { server, file in
            try await fill(server)
            let state = try await server.replicate(to: file)
            #expect(state.counts.missing == 34 && state.counts.written == 34)
            #expect(state.counts.deleted == 1 && state.counts.failed == 0 && state.counts.attachments == 2)
            #expect(try await file.leaves() == server.leaves())
        }
    }

    @Test func replicationWorksInBothDirections() async throws {
        try await BotTestBed.withTwo { server, file in
            try await fill(file)
            let state = try await file.replicate(to: server)
            #expect(state.counts.written == 34 && state.counts.failed == 0)
            #expect(try await file.leaves() == server.leaves())
        }
    }

    @Test func secondRunTransfersNothing() async throws {
        try await BotTestBed.withTwo { server, file in
            try await fill(server)
            let first = try await server.replicate(to: file)
            let second = try await server.replicate(to: file)
            #expect(second.counts == ReplicationCounts())
            #expect(second.lastSequence == first.lastSequence && first.lastSequence != nil)
            try await server.load([("later", #"{"_id":"later"}"#)])
            let third = try await server.replicate(to: file)
            #expect(third.counts.checked == 1 && third.counts.written == 1)
        }
    }

    /// Both ends record the same session, in the form of CouchDB's replicator.
    @Test func checkpointIsStoredAtBothEnds() async throws {
        try await BotTestBed.withTwo { server, file in
            try await fill(server)
            let state = try await server.replicate(to: file)
            let id = ReplicationID(from: server.identity, to: file.identity).name
            let logs = [try await server.phone.localDocument(id), try await file.phone.localDocument(id)]
                .compactMap { $0.flatMap { ReplicationLog($0.body) } }
            #expect(logs.count == 2 && logs.first?.session == logs.last?.session)
            #expect(logs.first?.sequence == logs.last?.sequence)
            // Not compared as bytes, because Sync Gateway sorts the members.
            let sessions = logs.map { $0.history.map(\.session) }
            #expect(sessions.first == sessions.last)
            #expect(logs.first?.sequence == state.lastSequence && logs.first?.history.count == 1)
        }
    }

    /// A target that was emptied has no checkpoint, so it gets everything again.
    @Test func newTargetGetsEverything() async throws {
        try await BotTestBed.withTwo { server, file in
            try await fill(server)
            try await server.replicate(to: file)
            try await BotTestBed.withEmbedded { other in
                let state = try await server.replicate(to: other)
                #expect(state.counts.written == 34)
            }
        }
    }

    /// Revisions with large attachments are stored one by one, the others together.
    @Test(arguments: [["w"], ["b"], ["b", "c"], ["b", "w"], []])
    func targetThatKeepsOneLeafKeepsTheWinner(large: [String]) async throws {
        try await BotTestBed.withTwoFiles(targetKeepsConflicts: false) { source, target in
            for name in ["b", "c", "w", "z"] {
                let attachment = #","_attachments":{"x":{"data":"eA==","content_type":"text/plain"}}"#
                let members = name == "z" ? #","_deleted":true"# : #","n":"\#(name)""#
                try await source.store("x", "\(name) a", members + (large.contains(name) ? attachment : ""))
            }
            try await source.replicate(to: target) { $0.inlineAttachmentBytes = 0 }
            #expect(try await target.stored("x")?.root["n"]?.string == "w")
        }
    }

    @Test func changesOfKnownDocumentsSendOnlyNewAttachments() async throws {
        try await BotTestBed.withTwo { server, file in
            try await fill(server)
            try await server.replicate(to: file)
            let small = try #require(try await server.phone.document("small")).root
            let stub = try #require(small["_attachments"]?["x"])
            let body =
                #"{"_rev":\#(text(small["_rev"])),"_attachments":{"x":\#(text(stub)),"y":{"data":"eA==","content_type":"text/plain"}}}"#
            try await server.phone.put("small", body: Array(body.utf8))
            let state = try await server.replicate(to: file)
            #expect(state.counts.written == 1)
            #expect(state.counts.attachments == 1 && state.counts.keptAttachments == 1)
            #expect(try await file.leaves() == server.leaves())
        }
    }

    // MARK: - Conflicts

    @Test func conflictsAreReplicatedIfTheTargetKeepsThem() async throws {
        try await BotTestBed.withTwoFiles { source, target in
            try await source.store("c", "b a", #","n":1"#)
            try await source.store("c", "c a", #","n":2"#)
            try await source.store("c", "e d a", #","_deleted":true"#)
            let state = try await source.replicate(to: target)
            #expect(state.counts.written == 3 && state.counts.failed == 0)
            #expect(try await target.leaves() == source.leaves())
            #expect(try await target.leaves().count == 3)
        }
    }

    @Test func targetThatKeepsOneLeafRefusesTheOthers() async throws {
        try await BotTestBed.withTwoFiles(targetKeepsConflicts: false) { source, target in
            try await source.store("c", "b a", #","n":1"#)
            try await source.store("c", "c a", #","n":2"#)
            try await source.store("d", "a")
            let state = try await source.replicate(to: target)
            #expect(state.counts.written == 2)
            #expect(state.counts.failed == 1 && state.counts.conflicts == 1)
            #expect(try await target.revision(of: "c") == "2-c")
            #expect(try await source.replicate(to: target).counts == ReplicationCounts())
        }
    }

    @Test func deletionOfALosingBranchIsReplicated() async throws {
        try await BotTestBed.withTwoFiles(targetKeepsConflicts: false) { source, target in
            try await source.store("c", "c a", #","n":2"#)
            try await source.replicate(to: target)
            try await source.store("c", "x b a", #","_deleted":true"#)
            let state = try await source.replicate(to: target)
            #expect(state.counts.missing == 1 && state.counts.failed == 0 && state.counts.conflicts == 1)
            // A deletion and an edit conflict like two edits.
            try await source.store("d", "b a", #","_deleted":true"#)
            try await target.store("d", "c a")
            #expect(try await source.replicate(to: target).counts.failed == 1)
        }
    }

    @Test func replicationBothWaysMakesBothEndsEqual() async throws {
        try await BotTestBed.withTwoFiles { source, target in
            try await source.store("c", "b a", #","n":1"#)
            try await target.store("c", "c a", #","n":2"#)
            try await source.store("s", "a")
            try await target.store("t", "a")
            let report = ReplicationReport()
            try await TwoWayReplicator(
                from: source.end(), to: target.end(), settings: ReplicationSettings(), back: ReplicationSettings(),
                report: report, logger: BotTestBed.logger
            ).run()
            #expect(report.state.counts.written == 4)
            #expect(try await target.leaves() == source.leaves())
        }
    }

    // MARK: - Parts

    @Test func selectorLimitsReplication() async throws {
        try await BotTestBed.withTwo { server, file in
            try await fill(server)
            let state = try await server.replicate(to: file) { settings in
                settings.selector = #"{"n":{"$lt":3}}"#
                settings.filter = try? DocumentFilter(#"{"n":{"$lt":3}}"#, name: "--selector")
            }
            #expect(state.counts.written == 4 && state.counts.filtered == 30)
            // Another replication has another checkpoint.
            #expect(try await server.replicate(to: file).counts.written == 30)
        }
    }

    /// The shape changes in one direction, and changes back in the other.
    @Test func mappingsChangeReplicatedDocuments() async throws {
        try await BotTestBed.withTwoFiles { source, target in
            try await source.store("a", "a", #","name":"Amy","_attachments":{"x":{"data":"eA=="}}"#)
            try await source.store("gone", "a", #","_deleted":true"#)
            let there = try await source.mapping("there", #"{title: .name, name: null}"#)
            let back = try await source.mapping("back", #"{name: .title, title: null}"#)
            let first = try await source.replicate(to: target) { $0.mapping = there }
            #expect(first.counts.written == 2 && first.counts.failed == 0)
            #expect(try await target.leaves().first?.contains(#"title="Amy" x: 1"#) == true)
            try await target.store("a", "b a", #","title":"Bea""#)
            let second = try await target.replicate(to: source) { $0.mapping = back }
            #expect(second.counts.written == 1)
            #expect(try await source.leaves().first == #"a 2-b live name="Bea""#)
        }
    }

    @Test func documentsCanBeNamed() async throws {
        try await BotTestBed.withTwo { server, file in
            try await fill(server)
            let state = try await server.replicate(to: file) { $0.documentIDs = ["d1", "gone", "none"] }
            #expect(state.counts.written == 2)
            #expect(try await file.revision(of: "d1") == server.revision(of: "d1"))
        }
    }

    /// This is the remedy for refused documents.
    @Test func namedDocumentsAreRetried() async throws {
        try await BotTestBed.withTrouble { target, targetServer in
            try await BotTestBed.withFile { source in
                try await fill(source)
                try targetServer.injectFaults(#"{"refuse_documents":{"share":1,"status":403}}"#)
                let refused = try await source.replicate(to: target) { $0.documentIDs = ["d1"] }
                #expect(refused.counts.failed == 1)
                targetServer.stopFaults()
                let state = try await source.replicate(to: target) { $0.documentIDs = ["d1"] }
                #expect(state.counts.written == 1)
            }
        }
    }

    @Test func smallBatchesWork() async throws {
        try await BotTestBed.withTwo { server, file in
            try await fill(server)
            let state = try await server.replicate(to: file) { settings in
                settings.batchChanges = 3
                settings.batchBytes = 100
                settings.checkpointInterval = .zero
            }
            #expect(state.counts.written == 34)
            #expect(try await file.leaves() == server.leaves())
        }
    }

    // MARK: - Trouble

    @Test func databaseIsNotReplicatedOntoItself() async throws {
        try await BotTestBed.withEmbedded { bed in
            await #expect { try await bed.replicate(to: bed) } throws: {
                "\($0)".contains("source and target are the same database")
            }
        }
    }

    @Test func faultsDoNotChangeTheResult() async throws {
        let faults =
            #"{"on":["_bulk_get","_bulk_docs","_revs_diff","_changes","_local","attachment"],"status":503,"share":0.2},{"on":["_bulk_get","_changes"],"cut":[0,4000],"share":0.2}"#
        try await BotTestBed.withTrouble { source, sourceServer in
            try await fill(source)
            try await BotTestBed.withTrouble { target, targetServer in
                for server in [sourceServer, targetServer] { try server.injectFaults(faults) }
                let state = try await source.replicate(to: target) { settings in
                    settings.batchChanges = 5
                    settings.checkpointInterval = .zero
                }
                for server in [sourceServer, targetServer] { server.stopFaults() }
                #expect(state.counts.failed == 0)
                #expect(try await target.leaves() == source.leaves())
            }
        }
    }

    /// Its checkpoint must not claim that the new database has the contents of the old one.
    @Test func recreatedTargetGetsEverythingAgain() async throws {
        try await BotTestBed.withTrouble { target, targetServer in
            try await BotTestBed.withFile { source in
                try await fill(source)
                let replicating = Task {
                    try await source.replicate(to: target) { settings in
                        settings.isContinuous = true
                        settings.checkpointInterval = .zero
                    }
                }
                defer { replicating.cancel() }
                try await target.wait(until: "d1") { _ in true }
                try await targetServer.reset()
                try await source.store("after", "a", #","type":"task""#)
                try await target.wait(until: ["d1", "after"]) { _ in true }
                replicating.cancel()
                _ = try await replicating.value
                // The next run transfers what was under way at the end.
                try await source.replicate(to: target)
                #expect(try await target.leaves() == source.leaves())
            }
        }
    }

    /// What was replicated before the source vanished is not transferred again.
    @Test func vanishedSourceIsContinuedLater() async throws {
        try await BotTestBed.withTrouble { source, sourceServer in
            try await fill(source)
            try await BotTestBed.withTrouble { target, _ in
                let configure = { (settings: inout ReplicationSettings) in
                    settings.batchChanges = 5
                    settings.workers = 1
                    settings.checkpointInterval = .zero
                }
                try sourceServer.injectFaults(#"{"on":"any","status":503,"after":10}"#)
                await #expect(throws: RunError.self) {
                    try await source.replicate(to: target) { settings in
                        configure(&settings)
                        settings.sourceRetries.retryFor = .zero
                    }
                }
                sourceServer.stopFaults()
                let stored = try await target.leaves().count
                let state = try await source.replicate(to: target, configure: configure)
                #expect(stored > 0 && state.counts.written == 34 - stored)
                #expect(state.counts.checked < 34)
                #expect(try await target.leaves() == source.leaves())
            }
        }
    }

    @Test func targetThatRefusesDocumentsGetsTheOthers() async throws {
        try await BotTestBed.withTrouble { target, targetServer in
            try await BotTestBed.withFile { source in
                try await fill(source)
                try targetServer.injectFaults(#"{"refuse_documents":{"share":0.3,"status":403}}"#)
                let state = try await source.replicate(to: target)
                targetServer.stopFaults()
                #expect(state.counts.failed > 0 && state.counts.failed + state.counts.written == 34)
                #expect(try await target.leaves().count == state.counts.written)
            }
        }
    }
}
