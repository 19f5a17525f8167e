import GatewayClient
import Logging
import Testing

@testable import Delivery

@Suite struct BusyDocumentsTests {
    private func busy() -> BusyDocuments {
        var limits = EffectLimits()
        limits.burst = 1
        return BusyDocuments(limits)
    }

    /// Also in other keyspaces, where a rule may `put` documents.
    @Test(arguments: [nil, "others"]) func busyDocumentIsLoggedOnce(keyspace: String?) async throws {
        let place = DocumentAddress(keyspace: keyspace, id: "a")
        let busy = busy()
        let lines = LoggedLines()
        await busy.log([place], to: lines.logger)
        #expect(lines.all.isEmpty)
        await busy.noteWrites([place])
        #expect(await busy.due([place])[place] != nil)
        for _ in 0..<2 { await busy.log([place], to: lines.logger) }
        #expect(lines.all.count == 1)
        let line = try #require(lines.all.first)
        #expect(line.level == .notice && line.message.contains("very often"))
        #expect(line.metadata == ["id": "a", "keyspace": "\(keyspace ?? "")"])
    }
}
