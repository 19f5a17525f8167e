import Bots
import DocumentFlow
import GatewayClient
import Rules
import TestKit
import Testing

@testable import Delivery
@testable import Revisions

/// Large leaves of documents in conflict.
@Suite(.limitedParallelism) struct LeavesMemoryTests {
    private static let size = 200_000

    private func store(_ bed: BotTestBed, _ count: Int) async throws {
        let text = String(repeating: "y", count: Self.size)
        for number in 0..<count {
            try await bed.store("t\(number)", "b", #","type":"task","text":"\#(text)""#)
            // Stores the winner.
            try await bed.store("t\(number)", "c", #","type":"task""#)
        }
    }

    private static let leaves = ["1-c", "1-b"].map { RevisionID($0) }

    @Test func leavesAreReadInPortions() async throws {
        try await BotTestBed.keepingConflicts { bed in
            try await store(bed, 6)
            let resolver = ConflictResolver(
                gateway: bed.phone, retries: RetryPolicy.Settings(), pauses: Pauses(), logger: BotTestBed.logger)
            let documents = (0..<6).map { ChangedDocument(id: DocumentID("t\($0)"), revisions: Self.leaves) }
            func count(_ portion: LeavesPortion) async throws -> Int {
                let read = try await resolver.leaves(of: documents[...], portion)
                #expect(read.found.count == read.documentCount)
                return read.documentCount
            }
            #expect(try await count(LeavesPortion(limit: 500_000)) == 2)
            #expect(try await count(LeavesPortion(limit: 100_000)) == 0)
            #expect(try await count(LeavesPortion(limit: 100_000, isSingle: true)) == 1)
            #expect(try await count(LeavesPortion(limit: 10_000_000)) == 6)
        }
    }

    /// Regression: only winners counted towards the memory budget.
    @Test func rulesReadLeavesAsMemoryAllows() async throws {
        try await BotTestBed.keepingConflicts { bed in
            try await store(bed, 12)
            let rules = try bed.rules(
                "version: 1\nrules:\n  - { name: settle, when: { type: task }, then: [{ resolve: winner }] }")
            let budget = 1_200_000
            let pool = MemoryPool(bytes: budget)
            let counters = try await bed.runOnce(rules) { $0.delivery.capacity.memory = pool }
            #expect(counters.deadLetters == 0 && counters.deleted == 12)
            let largest = Content.copies * Self.size
            #expect(pool.peakUse >= largest)
            #expect(pool.peakUse <= budget + 2 * largest)
            for number in 0..<12 { #expect(try await bed.live(DocumentID("t\(number)")).count == 1) }
        }
    }
}
