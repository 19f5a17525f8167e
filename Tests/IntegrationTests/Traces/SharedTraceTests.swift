import Bots
import DocumentFlow
import Fleet
import GatewayClient
import Locking
import LosslessJSON
import PostgreSQL
import Rules
import TestKit
import Testing

/// The same for a process that shares the work of a fleet: the steps of the leader and of a worker.
@Suite(.limitedParallelism) struct SharedTraceTests {
    private static let commit = (Trace.Subject.log, "update partition_position, delete work")
    private static let order = (id: DocumentID("o1"), body: #"{"_id":"o1","type":"order","n":1}"#)

    /// Compares the steps of a member for one change, and then for the resulting changes.
    ///
    /// - Parameters:
    ///   - last: The last step for the change.
    ///   - isWritten: Whether the feed returns the writes of the rules.
    ///   - delayed: A document whose first read waits until the change is removed from the log; otherwise the order of
    ///     the two would vary.
    ///   - yaml: The rules; gets the URL of a receiver.
    private func expect(
        _ name: String, last: (Trace.Subject, String) = commit, isWritten: Bool = true, delayed: String? = nil,
        _ yaml: (String) -> String
    ) async throws {
        try await TraceTestBed.with(isShared: true) { bed in
            let receiver = try bed.receiver()
            let server = try TestPostgres.shared
            let fleet = EngineTestBed(bed: bed.traced, server: server, fleet: server.uniqueName("fleet"))
            try await bed.direct.load([("other", #"{"_id":"other","type":"other"}"#)])
            let rules = try bed.traced.rules("version: 1\nrules:\n" + yaml(receiver.url))
            try await bed.observing {
                try await fleet.sharing(
                    rules, members: 1...1, partitions: 1, configure: TraceTestBed.steady
                ) { _ in
                    try await settle(bed, fleet)
                    if let delayed { delayReads(of: delayed, bed) }
                    bed.gate.openForOne()
                    bed.trace.begin("a change")
                    try await bed.direct.load([Self.order])
                    await bed.gate.waitUntilClosed()
                    try await fleet.wait(until: 2, "SELECT n FROM fleet")
                    try await settle(fleet)
                    try await bed.trace.waitForLast(last.0, last.1)
                    if isWritten { bed.trace.begin("what it led to") }
                    bed.gate.open()
                    try await settle(bed, fleet)
                    if isWritten { try await bed.trace.waitForLast(Self.commit.0, Self.commit.1) }
                    bed.trace.end()
                }
            }
            try GoldenFile(name: name).expect(bed.trace.text)
        }
    }

    private func delayReads(of id: String, _ bed: TraceTestBed) {
        bed.before.withLock {
            $0 = { [trace = bed.trace] request in
                let keys = (try? JSONText(request.body))?.root["keys"]
                if keys?.elements.contains(where: { $0.string == id }) == true { trace.block(until: Self.commit.1) }
            }
        }
    }

    /// Returns once the fleet has read the feed to its end and has nothing left to do.
    private func settle(_ bed: TraceTestBed, _ fleet: EngineTestBed) async throws {
        while true {
            let newest = try await bed.direct.phone.databaseInfo().updateSequence
            let read = try await fleet.sql("SELECT seq FROM fleet").rows.first?.first?.text.flatMap { SequenceID($0) }
            try await settle(fleet)
            let isNewest = try await bed.direct.phone.databaseInfo().updateSequence == newest
            // It is a number in one answer and a string in the other.
            if isNewest, let read, read.queryValue == newest?.queryValue { return }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func settle(_ fleet: EngineTestBed) async throws {
        let rest = ["work", "parked", "total_to_write", "recount"].map { "(SELECT count(*) FROM \($0))" }
        let incomplete = "(SELECT count(*) FROM aggregate_rule WHERE is_complete = 0)"
        try await fleet.wait(until: 0, "SELECT (\((rest + [incomplete]).joined(separator: " + ")))::bigint")
    }

    @Test func put() async throws {
        try await expect("shared-put") { _ in
            """
              - name: copy
                when: { type: order }
                then:
                  - put: { id: { jq: '"copy." + ._id' }, document: { type: copy } }
                  - merge: { copied: true }
            """
        }
    }

    @Test func webhook() async throws {
        try await expect("shared-webhook", isWritten: false) { url in
            "  - { name: tell, when: { type: order }, then: [{ webhook: { url: \(url) } }] }"
        }
    }

    @Test func counts() async throws {
        try await expect("shared-count", last: (.state, "delete total_to_write"), delayed: "totals") { _ in
            """
              - name: counts
                when: { type: order }
                then: [{ aggregate: { into: totals, document: { type: totals }, count: { orders: true } } }]
            """
        }
    }
}
