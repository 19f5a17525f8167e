import DocumentFlow
import Foundation
import GatewayClient
import LosslessJSON
import Revisions
import Rules
import TestKit
import Testing

/// Two programs that decide differently about the same conflict at the same time.
@Suite(.limitedParallelism) struct TwoPoliciesTests {
    private static let picture = Data("a picture".utf8)

    /// `2-c` wins; `2-b` is the later one and has a picture.
    private func storeConflict(_ bed: BotTestBed) async throws {
        try await bed.store("x", "a", #","n":0"#)
        try await bed.store(
            "x", "b a",
            #","n":1,"updatedAt":2,"_attachments":{"p":{"content_type":"image/png","data":"\#(Self.picture.base64EncodedString())"}}"#
        )
        try await bed.store("x", "c a", #","n":2,"updatedAt":1"#)
    }

    private func makeProgram(_ bed: BotTestBed) -> ConflictResolver {
        ConflictResolver(
            gateway: bed.phone, retries: RetryPolicy.Settings(), pauses: Pauses(), logger: BotTestBed.logger)
    }

    private func readCase(_ program: ConflictResolver, _ policy: String) async throws -> ConflictCase {
        let policies = try ConflictPolicies([policy], dateMember: "updatedAt")
        var conflict: Conflict?
        let read = try await program.conflicts(among: [("x", nil)], LeavesPortion(limit: 1 << 20))
        if case .read(let found)? = read.found["x"] { conflict = found }
        let found = try #require(conflict)
        return try #require(ConflictCase("x", found, policies))
    }

    /// In any order, and if either is killed before it deletes: the winner, or what was made of it, exists.
    @Test(arguments: [
        ["winner", "last-update-wins"], ["last-update-wins", "winner"], ["last-update-wins", "jq:.[0]"],
    ])
    func documentSurvivesTwoPolicies(policies: [String]) async throws {
        try await BotTestBed.keepingConflicts { bed in
            try await storeConflict(bed)
            let (one, other) = (makeProgram(bed), makeProgram(bed))
            let first = try await readCase(one, policies[0])
            let second = try await readCase(other, policies[1])
            #expect(try await one.resolve([first]).ends == ["x": .resolved])
            #expect(try await bed.live("x").count == 1)
            #expect(try await other.resolve([second]).ends == ["x": .resolved])
            let left = try await bed.live("x")
            #expect(left.count == 1)
            #expect(BotTestBed.members(left.first) == ["n": "1", "updatedAt": "2"])
            #expect(left.first?.root["_rev"]?.string?.hasPrefix("3-") == true)
            #expect(try await content(of: "p", bed) == Self.picture)
        }
    }

    @Test func documentDeletedByAUserStaysDeleted() async throws {
        try await BotTestBed.keepingConflicts { bed in
            try await storeConflict(bed)
            let program = makeProgram(bed)
            let winner = try await readCase(program, "winner")
            try await bed.store("x", "d c a", #","_deleted":true"#)
            #expect(try await program.resolve([winner]).ends == ["x": .resolved])
            #expect(try await bed.live("x").isEmpty)
        }
    }

    @Test func documentDeletedByAPolicyStaysDeleted() async throws {
        try await BotTestBed.keepingConflicts { bed in
            try await storeConflict(bed)
            let (one, other) = (makeProgram(bed), makeProgram(bed))
            let deletion = try await readCase(one, "jq:null")
            let winner = try await readCase(other, "winner")
            #expect(try await one.resolve([deletion]).ends == ["x": .resolved])
            #expect(try await other.resolve([winner]).ends == ["x": .resolved])
            #expect(try await bed.live("x").isEmpty)
        }
    }

    /// The leaves in the feed are no longer leaves, and CouchDB may no longer have their bodies.
    @Test func missingLeavesAreReadAgain() async throws {
        try await BotTestBed.keepingConflicts { bed in
            try await storeConflict(bed)
            let program = makeProgram(bed)
            let found = try await program.conflicts(
                among: [("x", ["2-c", "2-b", "2-gone"].map { RevisionID($0) })], LeavesPortion(limit: 1 << 20)
            ).found
            guard case .read(let conflict)? = found["x"] else {
                Issue.record("the leaves were not read: \(found)")
                return
            }
            #expect(conflict.leaves.map(\.revision) == ["2-c", "2-b"])
        }
    }

    private func content(of name: String, _ bed: BotTestBed) async throws -> Data {
        var answer = try #require(try await bed.phone.openAttachment(name, of: "x", revision: nil))
        var content = Data()
        while let piece = try await answer.next() { content += piece }
        return content
    }
}
