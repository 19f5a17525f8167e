import LosslessJSON
import Testing

@testable import BotState
@testable import GatewayClient

/// Which resets are supported by more than the mark.
@Suite struct ResetRecordTests {
    private static let lost = DatabaseReset(mark: nil)

    private func info(_ sequence: String, instance: String = "1") throws -> DatabaseInfo {
        let json = #"{"db_name":"todo","update_seq":"\#(sequence)","instance_start_time":"\#(instance)"}"#
        return try #require(SmallJSON(Array(json.utf8)).flatMap { DatabaseInfo($0) })
    }

    private func evidence(
        _ record: ResetRecord, _ info: DatabaseInfo, at checkpoint: String?, _ reset: DatabaseReset = lost
    ) -> MarkReliability.Evidence {
        record.evidence(of: reset, info, checkpoint: checkpoint.flatMap { SequenceID($0) })
    }

    @Test func firstResetNeedsNoSupport() throws {
        #expect(evidence(ResetRecord(), try info("9-a"), at: "9-a") == .progress)
        let record = ResetRecord().noting(try info("9-a"))
        #expect(evidence(record, try info("9-a"), at: "9-a") == .progress)
        #expect(evidence(record, try info("9-a"), at: nil) == .progress)
    }

    @Test func readingAgainIsNoProgress() throws {
        let record = ResetRecord().noting(resetFrom: "a", try info("9-a"))
        for checkpoint in [nil, "0", "5-a", "9-a", "9-b"] {
            #expect(evidence(record, try info("9-a"), at: checkpoint) == .none, "\(checkpoint ?? "nil")")
        }
        #expect(evidence(record, try info("12-a"), at: "10-a") == .progress)
    }

    @Test func newInstanceIsAnotherDatabase() throws {
        let record = ResetRecord().noting(try info("9-a")).noting(resetFrom: "a", try info("9-a", instance: "2"))
        #expect(evidence(record, try info("9-a", instance: "3"), at: "9-a") == .otherDatabase)
        for known in ["1", "2"] {
            #expect(evidence(record, try info("9-a", instance: known), at: "9-a") == .none)
        }
        // Old versions of CouchDB report this for each database.
        #expect(evidence(record, try info("9-a", instance: "0"), at: "9-a") == .none)
    }

    @Test func databaseWithFewerChangesIsAnother() throws {
        let record = ResetRecord().noting(resetFrom: "a", try info("9-a"))
        for mark in [nil, "new"] {
            let reset = DatabaseReset(mark: mark.map { DatabaseMark(identity: $0) })
            #expect(evidence(record, try info("3-a"), at: "9-a", reset) == .otherDatabase)
        }
        // Two databases in turn.
        let former = DatabaseReset(mark: DatabaseMark(identity: "a"))
        #expect(evidence(record, try info("3-a"), at: "9-a", former) == .none)
    }

    @Test func sameStartTimeAndNoFewerChangesShowTheSameDatabase() throws {
        let record = ResetRecord().noting(try info("9-a"))
        func isUnchanged(_ info: DatabaseInfo, at checkpoint: String?) -> Bool {
            record.isUnchanged(info, checkpoint: checkpoint.flatMap { SequenceID($0) })
        }
        #expect(isUnchanged(try info("9-a"), at: "9-b"))
        #expect(isUnchanged(try info("9-a"), at: nil))
        #expect(!isUnchanged(try info("8-a"), at: "9-b"))
        #expect(!isUnchanged(try info("9-a"), at: "9"))
        #expect(!isUnchanged(try info("9-a", instance: "2"), at: "9-b"))
        #expect(
            !ResetRecord().noting(try info("9-a", instance: "0")).isUnchanged(
                try info("9-a", instance: "0"), checkpoint: nil))
        // In the meantime, the state belongs to another database.
        #expect(!record.noting(try info("1-a", instance: "2")).isUnchanged(try info("9-a"), checkpoint: nil))
    }

    @Test func recordIsReadAsItWasWritten() throws {
        var record = ResetRecord()
        #expect(ResetRecord(record.json) == record)
        for number in 0..<20 {
            record = record.noting(resetFrom: "\(number)", try info("\(number)-a", instance: "\(number / 2)"))
            #expect(ResetRecord(record.json) == record)
        }
        #expect(record.identities.count == 10 && record.identities.last == "19")
        #expect(ResetRecord("no record") == nil)
    }

    @Test func stateKeepsTheRecord() async throws {
        try await LedgerTestBed.withLedger { _, ledger in
            try await ledger.noteDatabase(try info("1-a", instance: "x"))
            #expect(try ledger.resetRecord().instances == ["x"])
            let record = try ledger.resetRecord().noting(resetFrom: "a", try info("9-a", instance: "y"))
            try await ledger.startOver(identity: "b", at: .start, reason: "reset", record: record)
            #expect(try ledger.resetRecord() == record)
            try await ledger.startOver(identity: "c", at: .start, reason: "reset")
            #expect(try ledger.resetRecord() == record)
        }
    }
}
