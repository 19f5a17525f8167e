import Bots
import DocumentFlow
import EmbeddedGateway
import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing
import Transfer

/// Connections that break after a request was sent. The import can't know whether the gateway has processed it.
@Suite(.limitedParallelism) struct ImportLostAnswerTests {
    private static let lines = (0..<400).map { #"{"_id":"d\#($0)","n":\#($0).0}"# }

    private static let troubles = ["before", "after"].map {
        #"{"drop":"\#($0)","on":"_bulk_docs","every":2,"times":3}"#
    }

    @Test(arguments: troubles, [ImportMode.insert, .upsert])
    func newDocumentsAreWrittenOnceWithoutConflict(trouble: String, mode: ImportMode) async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            try embedded.injectFaults(trouble)
            let state = try await bed.load(lines: Self.lines) { settings in
                settings.mode = mode
                settings.batchDocuments = 25
            }
            embedded.stopFaults()
            #expect(state.counts.rejected == 0 && state.counts.settled == 400, bed.rejectionReasons)
            #expect(state.counters.traffic.retries == 3)
            try await bed.expectEachOnce(400)
        }
    }

    /// Documents that already have the wanted content count as unchanged, whether or not the request was processed;
    /// created ones do not.
    @Test(arguments: troubles, [ImportMode.upsert, .merge])
    func countsAreRightAfterLostAnswers(trouble: String, mode: ImportMode) async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            let (there, other) = (Self.lines[..<100], (100..<200).map { #"{"_id":"d\#($0)","n":0}"# })
            try await bed.load(lines: there + other)
            try embedded.injectFaults(trouble)
            let state = try await bed.load(lines: Self.lines) { settings in
                settings.mode = mode
                settings.batchDocuments = 25
            }
            embedded.stopFaults()
            #expect(state.counts == ImportCounts(inserted: 200, changed: 100, unchanged: 100), bed.rejectionReasons)
        }
    }

    @Test(arguments: troubles) func deletionsAreCountedAfterLostAnswers(trouble: String) async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            try await bed.load(lines: Array(Self.lines[..<300]))
            try embedded.injectFaults(trouble)
            let state = try await bed.load(lines: Self.lines) { settings in
                settings.mode = .delete
                settings.batchDocuments = 25
            }
            embedded.stopFaults()
            #expect(state.counts == ImportCounts(changed: 300, deleted: 300, unchanged: 100), bed.rejectionReasons)
        }
    }

    /// Even if it is equal.
    @Test(arguments: troubles) func existingDocumentIsNotInserted(trouble: String) async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            try await bed.load(lines: Array(Self.lines[..<100]))
            try embedded.injectFaults(trouble)
            let state = try await bed.load(lines: Self.lines) { $0.batchDocuments = 25 }
            embedded.stopFaults()
            #expect(state.counts == ImportCounts(inserted: 300, rejected: 100), bed.rejectionReasons)
        }
    }

    /// A lost answer must not make the import treat an existing document as its own.
    @Test func existingDocumentIsRejectedAfterLostAnswers() async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            let others = (0..<400).filter { $0 % 5 == 0 }
            try await bed.load(lines: others.map { #"{"_id":"d\#($0)","other":true}"# })
            try embedded.injectFaults(#"{"drop":"after","on":"_bulk_docs","every":2,"times":5}"#)
            let state = try await bed.load(lines: Self.lines) { $0.batchDocuments = 25 }
            embedded.stopFaults()
            #expect(state.counts.rejected == 80 && state.counts.settled == 400)
            #expect(try bed.rejections().map(\.id) == others.map { "d\($0)" })
            try await bed.expectEachOnce(400)
        }
    }
}
