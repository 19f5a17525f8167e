import DocumentFlow
import EmbeddedGateway
import Foundation
import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing
import Transfer

/// `replicate --both-ways --policy`, where the target keeps one leaf of a document.
@Suite(.limitedParallelism) struct SettledConflictTests {
    /// - Parameter sourceKeepsConflicts: Whether the source keeps several leaves, as CouchDB does.
    private func with(
        sourceKeepsConflicts: Bool, _ body: (_ source: BotTestBed, _ target: BotTestBed) async throws -> Void
    ) async throws {
        try await BotTestBed.withFile(keepsConflicts: sourceKeepsConflicts) { source in
            try await BotTestBed.withFile(keepsConflicts: false) { target in try await body(source, target) }
        }
    }

    @discardableResult
    private func replicate(
        _ source: BotTestBed, _ target: BotTestBed, _ policies: String...
    ) async throws -> ReplicationCounts {
        var settings = ReplicationSettings()
        settings.policies = try policies.isEmpty ? nil : ConflictPolicies(policies, dateMember: "updatedAt")
        settings.policyTexts = policies
        let report = ReplicationReport()
        try await TwoWayReplicator(
            from: source.end(), to: target.end(), settings: settings, back: settings, report: report,
            logger: BotTestBed.logger
        ).run()
        return report.state.counts
    }

    /// Stores `x` at both ends, and changes it at both.
    private func diverge(
        _ source: BotTestBed, _ target: BotTestBed, _ ours: String, _ theirs: String, first: String = #","a":0,"b":0"#
    ) async throws {
        for bed in [source, target] { try await bed.store("x", "a", first) }
        try await source.store("x", "s a", ours)
        try await target.store("x", "t a", theirs)
    }

    /// Expects the same revision at both ends as the only live leaf; returns its members.
    private func settled(_ source: BotTestBed, _ target: BotTestBed) async throws -> String? {
        for bed in [source, target] {
            #expect(try await bed.leaves().count { $0.contains(" live") } <= 1)
        }
        let (ours, theirs) = (try await source.stored("x"), try await target.stored("x"))
        #expect(ours?.root["_rev"]?.string == theirs?.root["_rev"]?.string)
        let (own, other) = (ours.map { content(of: $0.root) }, theirs.map { content(of: $0.root) })
        #expect(own == other)
        return own
    }

    /// If the policy merges, both ends have the edit; if deletions win, neither has the document. A second run changes
    /// nothing.
    private func expectOneResult(
        _ source: BotTestBed, _ target: BotTestBed, _ policy: String, merged: String
    ) async throws {
        #expect(try await replicate(source, target, policy).failed == 0)
        let result = try await settled(source, target)
        #expect(result == (policy == "merge" ? merged : nil))
        let again = try await replicate(source, target, policy)
        #expect(again.written == 0 && again.failed == 0)
        #expect(try await settled(source, target) == result)
    }

    private static let ways: [Bool] = [true, false]

    @Test(
        arguments: ways,
        [
            ("merge", #"{"_id":"x","a":1,"b":1}"#), ("winner", #"{"_id":"x","a":0,"b":1}"#),
            ("jq:{ n: (map(.a + .b) | add) }", #"{"_id":"x","n":2}"#),
        ])
    func bothEndsAreEqual(sourceKeepsConflicts: Bool, policy: (name: String, result: String)) async throws {
        try await with(sourceKeepsConflicts: sourceKeepsConflicts) { source, target in
            try await diverge(source, target, #","a":1,"b":0"#, #","a":0,"b":1"#)
            let counts = try await replicate(source, target, policy.name)
            #expect(counts.settled == 1 && counts.failed == 0)
            #expect(try await settled(source, target) == policy.result)
            let again = try await replicate(source, target, policy.name)
            #expect(again.written == 0 && again.failed == 0 && again.settled == 0)
            #expect(try await settled(source, target) == policy.result)
        }
    }

    @Test(arguments: ways, ["source", "target"]) func laterDateStays(sourceKeepsConflicts: Bool, later: String)
        async throws
    {
        try await with(sourceKeepsConflicts: sourceKeepsConflicts) { source, target in
            func body(_ name: String) -> String {
                #","n":"\#(name)","updatedAt":"2026-11-2\#(name == later ? 5 : 4)T10:00:00Z""#
            }
            // With a higher generation than the other one.
            for bed in [source, target] { try await bed.store("x", "a", body("none")) }
            try await source.store("x", "s3 s2 a", body("source"))
            try await target.store("x", "t a", body("target"))
            let counts = try await replicate(source, target, "last-update-wins")
            #expect(counts.settled == 1 && counts.failed == 0)
            let result = try #require(try await settled(source, target))
            #expect(result.contains(#""n":"\#(later)""#))
            #expect(try await replicate(source, target, "last-update-wins").written == 0)
        }
    }

    @Test(arguments: ways, ["deletes-win", "merge"]) func deletionAtTheSourceFollowsThePolicy(
        sourceKeepsConflicts: Bool, policy: String
    ) async throws {
        try await with(sourceKeepsConflicts: sourceKeepsConflicts) { source, target in
            try await diverge(source, target, #","_deleted":true"#, #","a":0,"b":1"#)
            try await expectOneResult(source, target, policy, merged: #"{"_id":"x","a":0,"b":1}"#)
        }
    }

    @Test(arguments: ways, ["deletes-win", "merge"]) func deletionAtTheTargetFollowsThePolicy(
        sourceKeepsConflicts: Bool, policy: String
    ) async throws {
        try await with(sourceKeepsConflicts: sourceKeepsConflicts) { source, target in
            try await diverge(source, target, #","a":1,"b":0"#, #","_deleted":true"#)
            try await expectOneResult(source, target, policy, merged: #"{"_id":"x","a":1,"b":0}"#)
        }
    }

    /// The settlement of two edits names revisions that no server has. They must not prevent a later deletion.
    @Test func deletionAfterResolvedEditsIsReplicated() async throws {
        try await with(sourceKeepsConflicts: true) { source, target in
            for bed in [source, target] { try await bed.store("x", "a", #","a":0,"b":0"#) }
            for history in ["s2 a", "s3 s2 a", "s4 s3 s2 a"] { try await source.store("x", history, #","a":1,"b":0"#) }
            try await target.store("x", "t a", #","a":0,"b":1"#)
            #expect(try await replicate(source, target, "deletes-win").settled == 1)
            #expect(try await settled(source, target) == #"{"_id":"x","a":1,"b":1}"#)
            try await source.store("x", "d a", #","_deleted":true"#)
            let counts = try await replicate(source, target, "deletes-win")
            #expect(counts.settled == 1 && counts.failed == 0)
            #expect(try await settled(source, target) == nil)
            let again = try await replicate(source, target, "deletes-win")
            #expect(again.settled == 0 && again.written == 0 && again.failed == 0)
        }
    }

    /// The end that keeps all leaves gets the edit in addition to its deletion, or the deletion in addition to its
    /// edit.
    @Test(arguments: ["source", "target"], ["deletes-win", "merge"])
    func deletionFollowsThePolicyIfTheTargetKeepsAllLeaves(deletes: String, policy: String) async throws {
        try await BotTestBed.withFile(keepsConflicts: false) { source in
            try await BotTestBed.withFile(keepsConflicts: true) { target in
                let (edit, deletion) = (#","a":1,"b":0"#, #","_deleted":true"#)
                let isAtSource = deletes == "source"
                try await diverge(
                    source, target, isAtSource ? deletion : edit, isAtSource ? edit : deletion)
                try await expectOneResult(source, target, policy, merged: #"{"_id":"x","a":1,"b":0}"#)
            }
        }
    }

    @Test(arguments: ways) func picturesOfBothEndsSurvive(sourceKeepsConflicts: Bool) async throws {
        try await with(sourceKeepsConflicts: sourceKeepsConflicts) { source, target in
            let large = Data((0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 9) })
            func picture(_ name: String, _ bytes: Data) -> String {
                #","_attachments":{"\#(name)":{"content_type":"image/png","data":"\#(bytes.base64EncodedString())"}}"#
            }
            try await diverge(
                source, target, #","n":1"# + picture("large", large), #","n":0"# + picture("own", Data("own".utf8)),
                first: #","n":0"#)
            #expect(try await replicate(source, target, "merge").failed == 0)
            _ = try await settled(source, target)
            for bed in [source, target] {
                for (name, bytes) in [("large", large), ("own", Data("own".utf8))] {
                    var answer = try #require(try await bed.phone.openAttachment(name, of: "x", revision: nil))
                    var content = Data()
                    while let piece = try await answer.next() { content += piece }
                    #expect(content == bytes, "\(name)")
                }
            }
            #expect(try await replicate(source, target, "merge").written == 0)
        }
    }

    @Test(arguments: ways) func leftConflictIsNamedAndUnchanged(sourceKeepsConflicts: Bool) async throws {
        try await with(sourceKeepsConflicts: sourceKeepsConflicts) { source, target in
            try await diverge(source, target, #","a":1,"b":0"#, #","a":0,"b":1"#)
            let counts = try await replicate(source, target, "set-aside")
            #expect(counts.settled == 0 && counts.failed >= 1)
            #expect(try await target.revision(of: "x") == "2-t")
        }
    }

    /// A run without a policy leaves the conflict. A run with a policy compares all revisions again.
    @Test(arguments: ways) func conflictsLeftByEarlierRunsAreSettled(sourceKeepsConflicts: Bool) async throws {
        try await with(sourceKeepsConflicts: sourceKeepsConflicts) { source, target in
            try await diverge(source, target, #","a":1,"b":0"#, #","a":0,"b":1"#)
            #expect(try await replicate(source, target).failed >= 1)
            #expect(try await replicate(source, target, "merge").settled == 1)
            #expect(try await settled(source, target) == #"{"_id":"x","a":1,"b":1}"#)
        }
    }

    /// Both ends created the document.
    @Test(arguments: ways) func documentsWithoutACommonRevisionAreMerged(sourceKeepsConflicts: Bool) async throws {
        try await with(sourceKeepsConflicts: sourceKeepsConflicts) { source, target in
            try await source.store("x", "s", #","a":1"#)
            try await target.store("x", "t3 t2 t", #","b":1"#)
            #expect(try await replicate(source, target, "merge").failed == 0)
            #expect(try await settled(source, target) == #"{"_id":"x","a":1,"b":1}"#)
            #expect(try await replicate(source, target, "merge").written == 0)
        }
    }

    /// After a settlement, edits at either end are plain updates at the other.
    @Test(arguments: ways) func editsAfterASettlementAreReplicated(sourceKeepsConflicts: Bool) async throws {
        try await with(sourceKeepsConflicts: sourceKeepsConflicts) { source, target in
            try await diverge(source, target, #","a":1,"b":0"#, #","a":0,"b":1"#)
            try await replicate(source, target, "merge")
            for bed in [source, target, source] {
                let revision = try #require(try await bed.revision(of: "x"))
                try await bed.phone.put("x", body: Array(#"{"_rev":"\#(revision)","n":"\#(revision)"}"#.utf8))
                let counts = try await replicate(source, target, "merge")
                #expect(counts.settled == 0 && counts.failed == 0)
                #expect(try await settled(source, target)?.contains(revision) == true)
            }
            // They may be in conflict again.
            for (bed, member) in [(source, "a"), (target, "b")] {
                let revision = try #require(try await bed.revision(of: "x"))
                try await bed.phone.put("x", body: Array(#"{"_rev":"\#(revision)","\#(member)":1}"#.utf8))
            }
            #expect(try await replicate(source, target, "merge").settled == 1)
            #expect(try await settled(source, target) == #"{"_id":"x","a":1,"b":1}"#)
        }
    }

    /// The program would keep adding if its own results were decided again.
    @Test(arguments: ways, [2, 3]) func interruptedResolutionIsCompleted(sourceKeepsConflicts: Bool, writes: Int)
        async throws
    {
        let refusal = #"{"on":"_bulk_docs","refuse_documents":{"status":403},"after":\#(writes),"times":1}"#
        let configure = { (configuration: inout EmbeddedGateway.Configuration) in
            configuration.allowsConflicts = sourceKeepsConflicts
            configuration.faults = try FaultPlan.parse(Array(#"{"faults":[\#(refusal)]}"#.utf8))
        }
        try await BotTestBed.withEmbedded(configure) { source in
            try await BotTestBed.withFile(keepsConflicts: false) { target in
                try await diverge(source, target, #","n":1"#, #","n":2"#, first: #","n":0"#)
                let policy = "jq:{ n: (map(.n) | add) }"
                try await replicate(source, target, policy)
                for bed in [source, target] { #expect(try await bed.stored("x") != nil) }
                // With another set of policies, it starts over, as after a kill.
                try await replicate(source, target, policy, "other=winner")
                #expect(try await settled(source, target) == #"{"_id":"x","n":3}"#)
                #expect(try await replicate(source, target, policy, "other=winner").written == 0)
            }
        }
    }

    /// The policy gets documents in the shape of the target.
    @Test(arguments: ways) func policySeesDocumentsInTheShapeOfTheTarget(sourceKeepsConflicts: Bool) async throws {
        try await with(sourceKeepsConflicts: sourceKeepsConflicts) { source, target in
            var (there, back) = (ReplicationSettings(), ReplicationSettings())
            there.policies = try ConflictPolicies(["merge"], dateMember: "updatedAt")
            there.policyTexts = ["merge"]
            (back.policies, back.policyTexts) = (there.policies, there.policyTexts)
            there.mapping = try await source.mapping("there", "{title: .name, name: null}")
            back.mapping = try await source.mapping("back", "{name: .title, title: null}")
            for bed in [source, target] {
                try await bed.store("x", "a", bed.url == source.url ? #","name":"a","n":0"# : #","title":"a","n":0"#)
            }
            try await source.store("x", "s a", #","name":"b","n":0"#)
            try await target.store("x", "t a", #","title":"a","n":1"#)
            let report = ReplicationReport()
            try await TwoWayReplicator(
                from: source.end(), to: target.end(), settings: there, back: back, report: report,
                logger: BotTestBed.logger
            ).run()
            #expect(report.state.counts.settled == 1 && report.state.counts.failed == 0)
            let (ours, theirs) = (
                try #require(try await source.stored("x")).root, try #require(try await target.stored("x")).root
            )
            #expect(ours["_rev"]?.string == theirs["_rev"]?.string)
            #expect(content(of: ours) == #"{"_id":"x","n":1,"name":"b"}"#)
            #expect(content(of: theirs) == #"{"_id":"x","n":1,"title":"b"}"#)
        }
    }

    /// Both directions handle the same conflicts at the same time.
    @Test(arguments: ways) func changesDuringTheRunAreReplicated(sourceKeepsConflicts: Bool) async throws {
        try await with(sourceKeepsConflicts: sourceKeepsConflicts) { source, target in
            var settings = ReplicationSettings()
            settings.policies = try ConflictPolicies(["merge"], dateMember: "updatedAt")
            settings.policyTexts = ["merge"]
            settings.isContinuous = true
            let report = ReplicationReport()
            let replicator = TwoWayReplicator(
                from: source.end(), to: target.end(), settings: settings, back: settings, report: report,
                logger: BotTestBed.logger)
            let run = Task { try await replicator.run() }
            let ids = (0..<8).map { DocumentID("d\($0)") }
            for round in 1...6 {
                for id in ids {
                    async let ours: Void = edit(source, id, "s\(round)")
                    async let theirs: Void = edit(target, id, "t\(round)")
                    _ = try await (ours, theirs)
                }
            }
            for _ in 0..<400 {
                if try await areEqual(source, target, ids) { break }
                try await Task.sleep(for: .milliseconds(50))
            }
            run.cancel()
            try await run.value
            for id in ids {
                let document = try #require(try await source.stored(id)).root
                #expect(Self.edits.allSatisfy { document[$0] != nil }, "\(document.members.compactMap(\.name.string))")
            }
            #expect(report.state.counts.failed == 0 && report.state.counts.settled > 0)
            settings.isContinuous = false
            try await replicate(source, target, "merge")
            #expect(try await areEqual(source, target, ids))
        }
    }

    /// The members that all edits of a document add.
    private static let edits = (1...6).flatMap { ["s\($0)", "t\($0)"] }

    /// Adds a member, as a phone does.
    private func edit(_ bed: BotTestBed, _ id: DocumentID, _ member: String) async throws {
        while true {
            let current = try await bed.stored(id) ?? JSONText("{}")
            let body = try current.setting(JSONPointer(tokens: [member]), to: Array("1".utf8))
            do throws(GatewayError) {
                _ = try await bed.phone.put(id, body: body.bytes)
                return
            } catch {
                guard error.code == .conflict else { throw error }
            }
        }
    }

    private func areEqual(_ source: BotTestBed, _ target: BotTestBed, _ ids: [DocumentID]) async throws -> Bool {
        for id in ids {
            let (ours, theirs) = (try await source.stored(id)?.root, try await target.stored(id)?.root)
            let isEqual = ours?["_rev"]?.string == theirs?["_rev"]?.string
            guard let ours, isEqual, Self.edits.allSatisfy({ ours[$0] != nil }) else { return false }
        }
        return true
    }
}
