import GatewayClient
import LosslessJSON
import Testing

@testable import Transfer

/// Determines which tombstones and withdrawals an export writes.
@Suite struct ExportSelectionTests {
    private func settings(isIncremental: Bool) -> ExportSettings {
        var settings = ExportSettings()
        if isIncremental { settings.since = .sequence(.start) }
        return settings
    }

    /// How often the feed has returned the document; nil if the feed is not read.
    @Test(
        arguments: [
            (false, nil, false, false), (false, 1, false, false), (false, 2, true, true),
            (true, nil, true, false), (true, 1, true, false), (true, 2, true, true),
        ] as [(Bool, Int?, Bool, Bool)])
    func onlyDocumentsWithEarlierLineAreSuperseded(
        isIncremental: Bool, times: Int?, wantsTombstone: Bool, mustWithdraw: Bool
    ) {
        for canWithdraw in [false, true] {
            var selection = ExportSelection(
                settings(isIncremental: isIncremental), seen: times.map { _ in SeenDocuments() },
                canWithdraw: canWithdraw)
            for _ in 0..<(times ?? 3) { selection.noteSeen("a") }
            selection.noteSeen("b")
            #expect(selection.wantsTombstone(of: "a") == wantsTombstone)
            #expect(selection.mustWithdraw("a") == (mustWithdraw && canWithdraw))
            #expect(!selection.mustWithdraw("b"))
        }
    }

    @Test func feedCanReplacePages() {
        var selection = ExportSelection(settings(isIncremental: false), seen: nil, canWithdraw: true)
        selection.noteSeen("a")
        #expect(selection.seen == nil)
        selection.beginFeed()
        for _ in 0..<2 { selection.noteSeen("a") }
        #expect(selection.mustWithdraw("a"))
    }

    @Test func allDocumentsBelongWithoutSelector() throws {
        let selection = ExportSelection(settings(isIncremental: false), seen: nil, canWithdraw: true)
        #expect(selection.membership(of: try JSONText("{}").root) == .belongs)
    }

    @Test func onlyWithdrawalLinesAreWithdrawals() throws {
        let withdrawal = try JSONText(GeneratedLine.withdrawal(of: "a\""))
        #expect(GeneratedLine.isWithdrawal(withdrawal.root))
        #expect(withdrawal.root["_id"]?.string == "a\"")
        let tombstone = try JSONText(GeneratedLine.tombstone(of: "a", RevisionID("2-b")))
        #expect(!GeneratedLine.isWithdrawal(tombstone.root))
        #expect(tombstone.root["_rev"]?.string == "2-b" && tombstone.root["_deleted"]?.bool == true)
    }
}
