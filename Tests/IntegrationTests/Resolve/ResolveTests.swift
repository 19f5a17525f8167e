import DocumentFlow
import EmbeddedGateway
import Foundation
import GatewayClient
import Locking
import LosslessJSON
import Rules
import TestKit
import Testing
import Transfer

/// Conflicts that are resolved in a database that keeps them: on a CouchDB if the environment names one, or else on an
/// embedded gateway.
@Suite(.limitedParallelism) struct ResolveTests {
    @discardableResult
    private func resolve(
        _ bed: BotTestBed, _ policies: String..., isDryRun: Bool = false, batch: Int? = nil,
        report: ResolveReport? = nil, show: @escaping Resolver.PreviewReceiver = { _ in }
    ) async throws -> ResolveReport.State {
        var settings = ResolveSettings(policies: try ConflictPolicies(policies, dateMember: "updatedAt"))
        if let batch { settings.batchDocuments = batch }
        settings.isDryRun = isDryRun
        let report = report ?? ResolveReport(isDryRun: isDryRun)
        let gateway = Gateway(bed.url, settings: bed.settings)
        try await Resolver(gateway: gateway, settings: settings, report: report, logger: BotTestBed.logger, show: show)
            .run()
        return report.state
    }

    @Test func changesOfDifferentMembersAreMerged() async throws {
        try await BotTestBed.keepingConflicts { bed in
            try await bed.store("task", "a", #","task":"apple","complete":false"#)
            try await bed.store("task", "b a", #","task":"Apples","complete":false"#)
            try await bed.store("task", "c a", #","task":"apple","complete":true"#)
            let state = try await resolve(bed, "merge")
            #expect(state.counters.matched == 1 && state.resolved == 1 && state.merged == 1)
            #expect(state.counters.written == 2 && state.counters.deleted == 1 && state.counters.rejected == 0)
            let left = try await bed.live("task")
            #expect(left.count == 1)
            #expect(BotTestBed.members(left.first) == ["task": #""Apples""#, "complete": "true"])
            let second = try await resolve(bed, "merge")
            #expect(second.counters.matched == 0 && second.counters.written == 0)
        }
    }

    @Test func picturesOfBothSidesSurvive() async throws {
        try await BotTestBed.keepingConflicts { bed in
            try await bed.store("task", "a", #","n":0"#)
            let large = Data((0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 9) })
            func picture(_ name: String, _ bytes: Data) -> String {
                #","_attachments":{"\#(name)":{"content_type":"image/png","data":"\#(bytes.base64EncodedString())"}}"#
            }
            try await bed.store("task", "b a", #","n":1"# + picture("large", large))
            try await bed.store("task", "c a", #","n":0"# + picture("own", Data("own".utf8)))
            let state = try await resolve(bed, "merge")
            #expect(state.resolved == 1 && state.merged == 1)
            let left = try #require(try await bed.live("task").first)
            #expect(left.root["n"]?.integer == 1)
            for (name, bytes) in [("large", large), ("own", Data("own".utf8))] {
                var answer = try #require(try await bed.phone.openAttachment(name, of: "task", revision: nil))
                var content = Data()
                while let piece = try await answer.next() { content += piece }
                #expect(content == bytes)
            }
        }
    }

    @Test func deletionAgainstAnEditFollowsThePolicy() async throws {
        try await BotTestBed.keepingConflicts { bed in
            for id in ["x", "y"] {
                try await bed.store(id, "a", #","type":"\#(id)","n":0"#)
                try await bed.store(id, "b a", #","_deleted":true"#)
                try await bed.store(id, "c a", #","type":"\#(id)","n":1"#)
            }
            let state = try await resolve(bed, "x=deletes-win", "y=merge")
            #expect(state.resolved == 1 && state.counters.matched == 1)
            #expect(try await bed.live("x").isEmpty)
            #expect(try await bed.live("y").count == 1)
        }
    }

    /// Regression: the number of conflicts that were left because their types had no policy was not reported.
    @Test(arguments: [true, false])
    func conflictsWithoutAPolicyAreCounted(isDryRun: Bool) async throws {
        try await BotTestBed.keepingConflicts { bed in
            for (id, type) in [("x", #""x""#), ("y1", #""y""#), ("y2", #""y""#), ("n", "1")] {
                try await bed.store(id, "a", #","type":\#(type),"n":0"#)
                try await bed.store(id, "b a", #","type":\#(type),"n":1"#)
                try await bed.store(id, "c a", #","type":\#(type),"m":1"#)
            }
            let report = ResolveReport(isDryRun: isDryRun)
            let state = try await resolve(bed, "x=merge", isDryRun: isDryRun, report: report)
            #expect(state.counters.matched == 1 && state.resolved == 1)
            #expect(state.withoutPolicy == ["y": 2, "": 1])
            let summary = try JSONText(report.summary(exitCode: 0))
            #expect(summary.root["without_policy"]?.integer == 3)
        }
    }

    @Test func recreatedDocumentIsNotDeletedAgain() async throws {
        try await BotTestBed.keepingConflicts { bed in
            try await bed.store("x", "a", #","n":0"#)
            try await bed.store("x", "b a", #","_deleted":true"#)
            try await bed.store("x", "c a", #","n":1"#)
            try await resolve(bed, "deletes-win")
            try await bed.phone.put("x", body: Array(#"{"n":2}"#.utf8))
            let state = try await resolve(bed, "deletes-win")
            #expect(state.counters.matched == 0)
            #expect(try await bed.live("x").count == 1)
        }
    }

    @Test func missingAncestorIsNoObstacle() async throws {
        try await BotTestBed.keepingConflicts { bed in
            // The server knows only the id of this revision.
            try await bed.store("x", "b a", #","n":1,"b":true"#)
            try await bed.store("x", "c a", #","n":1,"c":true"#)
            let state = try await resolve(bed, "merge")
            #expect(state.merged == 1)
            #expect(BotTestBed.members(try await bed.live("x").first) == ["n": "1", "b": "true", "c": "true"])
        }
    }

    /// CouchDB compacts databases by itself during writes.
    @Test func ancestorsAreReadBeforeTheyAreForgotten() async throws {
        try await BotTestBed.keepingConflicts { bed in
            for number in 0..<120 {
                try await bed.store("d\(number)", "a", #","x":0,"y":0"#)
                try await bed.store("d\(number)", "b a", #","x":1,"y":0"#)
                try await bed.store("d\(number)", "c a", #","x":0,"y":1"#)
            }
            let report = ResolveReport(isDryRun: false)
            let compacting = Task {
                guard let server = try RealServer.fromEnvironment(), try await RealServer.isCouchDB() else {
                    return
                }
                while !Task.isCancelled {
                    if report.state.counters.written > 0 { try await server.compact(bed.url) }
                    await Task.yield()
                }
            }
            let state = try await resolve(bed, "merge", batch: 1, report: report)
            compacting.cancel()
            _ = await compacting.result
            #expect(state.resolved == 120 && state.merged == 120 && state.counters.rejected == 0)
            for number in 0..<120 {
                #expect(
                    BotTestBed.members(try await bed.live(DocumentID("d\(number)")).first) == ["x": "1", "y": "1"])
            }
        }
    }

    @Test func manyLeavesOfManyDocumentsAreResolved() async throws {
        try await BotTestBed.keepingConflicts { bed in
            for number in 0..<45 {
                try await bed.store("d\(number)", "a", #","w":0,"x":0,"y":0,"z":0"#)
                try await bed.store("d\(number)", "b a", #","w":0,"x":1,"y":0,"z":0"#)
                try await bed.store("d\(number)", "c a", #","w":0,"x":0,"y":1,"z":0"#)
                try await bed.store("d\(number)", "f e a", #","w":0,"x":0,"y":0,"z":1"#)
            }
            let state = try await resolve(bed, "merge")
            #expect(state.resolved == 45 && state.counters.deleted == 90 && state.counters.rejected == 0)
            for number in 0..<45 {
                let left = try await bed.live(DocumentID("d\(number)"))
                #expect(left.count == 1)
                #expect(BotTestBed.members(left.first) == ["w": "0", "x": "1", "y": "1", "z": "1"])
            }
        }
    }

    @Test func winnerStaysAndOtherLeavesFollowIt() async throws {
        try await BotTestBed.keepingConflicts { bed in
            for (id, earlier) in [("x", "b"), ("y", "c")] {
                try await bed.store(id, "a")
                for digest in ["b", "c"] {
                    let day = digest == earlier ? "25" : "26"
                    try await bed.store(id, "\(digest) a", #","n":1.10,"updatedAt":"2026-11-\#(day)T10:00:00Z""#)
                }
            }
            let state = try await resolve(bed, "last-update-wins")
            #expect(state.kept == 1 && state.merged == 1)
            #expect(state.counters.written == 3 && state.counters.deleted == 2)
            #expect(try await bed.live("x").map { $0.root["_rev"]?.string } == ["2-c"])
            let other = try #require(try await bed.live("y").first)
            #expect(other.root["_rev"]?.string?.hasPrefix("3-") == true)
            #expect(other.root["updatedAt"]?.string == "2026-11-26T10:00:00Z")
            if try await !RealServer.isCouchDB() {
                #expect(other.root["n"].map { Array($0.bytes) } == Array("1.10".utf8))
            }
            // The same resolution has the same revision on every server.
            try await resolve(bed, "last-update-wins")
            #expect(try await bed.live("y").count == 1)
        }
    }

    @Test func dryRunWritesNothing() async throws {
        try await BotTestBed.keepingConflicts { bed in
            try await bed.store("x", "a", #","n":0,"m":0"#)
            try await bed.store("x", "b a", #","n":0,"m":1"#)
            try await bed.store("x", "c a", #","n":1,"m":0"#)
            let lines = Locked<[String]>([])
            let state = try await resolve(bed, "merge", isDryRun: true) { line in
                lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
            }
            #expect(
                state.counters.preview.written == 2 && state.counters.preview.deleted == 1
                    && state.counters.written == 0)
            #expect(
                lines.withLock { $0 } == [
                    #"{"id":"x","policy":"merge","leaves":["2-c","2-b"],"ancestor":"1-a","action":"write","#
                        + #""document":{"n":1,"m":1},"attachments":[]}"#
                ])
            #expect(try await bed.live("x").count == 2)
        }
    }

    @Test func leftConflictIsNamedAndNotChanged() async throws {
        try await BotTestBed.keepingConflicts { bed in
            try await bed.store("x", "b a", #","n":1"#)
            try await bed.store("x", "c a", #","n":2"#)
            let state = try await resolve(bed, "set-aside")
            #expect(state.counters.rejected == 1 && state.resolved == 0 && state.counters.written == 0)
            #expect(try await bed.live("x").count == 2)
        }
    }

    @Test func concurrentEditIsNotLost() async throws {
        try await BotTestBed.keepingConflicts { bed in
            try await bed.store("x", "a", #","n":0,"m":0"#)
            try await bed.store("x", "b a", #","n":0,"m":1"#)
            try await bed.store("x", "c a", #","n":1,"m":0"#)
            // A resolution that was decided before the edits, and stored after them.
            let before = try await leaves(bed)
            try await bed.store("x", "b2 b a", #","n":0,"m":2,"updatedAt":"2026-11-26T10:00:00Z""#)
            try await bed.store("x", "c2 c a", #","n":2,"m":0"#)
            let winner = try #require(before.first { $0.revision == "2-c" })
            try await bed.store(
                "x", "resolved \(winner.history.map { $0.dropFirst(2) }.joined(separator: " "))", #","n":1,"m":1"#)
            try await bed.store("x", "bgone b a", #","_deleted":true"#)
            try await resolve(bed, "merge")
            #expect(
                BotTestBed.members(try await bed.live("x").first) == [
                    "n": "2", "m": "2", "updatedAt": #""2026-11-26T10:00:00Z""#,
                ])
        }
    }

    private func leaves(_ bed: BotTestBed) async throws -> [ConflictLeaf] {
        var found: [ConflictLeaf] = []
        for revision in ["2-b", "2-c"] {
            let document = try await bed.phone.document("x", revision: RevisionID(revision), with: .history)
            if let leaf = document.flatMap({ ConflictLeaf($0) }) { found.append(leaf) }
        }
        return found
    }
}
