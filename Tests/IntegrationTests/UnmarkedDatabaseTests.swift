import Bots
import Foundation
import GatewayClient
import Rules
import TestKit
import Testing

/// Databases in which the user may not store a mark, so that only their addresses distinguish them.
@Suite(.limitedParallelism) struct UnmarkedDatabaseTests {
    private func server() throws -> ScriptedServer {
        try ScriptedServer(local: .init(status: 403, body: #"{"error":"Forbidden","reason":"no"}"#)) { request, _ in
            request.path == "/todo/_changes"
                ? ScriptedServer.feed([ScriptedServer.row(1)], last: 1) : ScriptedServer.written(request)
        }
    }

    private func run(_ server: ScriptedServer, _ directory: String) async throws {
        let url = server.server.url("/todo")
        let ruleSet = try server.ruleSet(directory)
        var settings = BotSettings()
        settings.isOneShot = true
        try await Bot(
            gateway: Gateway(try GatewayURL(url)), ruleSet: ruleSet, state: server.place(directory, ruleSet),
            settings: settings, report: RunReport(), logger: BotTestBed.logger
        ).run()
    }

    @Test(.disabled(if: TestEngine.isUsedByAllTests)) func eachAddressHasItsOwnState() async throws {
        try await withDirectory { directory in
            let servers = [try server(), try server()]
            for _ in 1...2 { for server in servers { try await run(server, directory) } }
            let states = try FileManager.default.contentsOfDirectory(atPath: directory + "/state")
            #expect(states.filter { $0.hasSuffix(".sqlite") }.sorted() == ["bot.sqlite", "bot@2.sqlite"])
            for server in servers {
                // The second run continues where the first ended.
                let feeds = server.requests("/todo/_changes")
                #expect(feeds.first?.target.contains("since=0") == true)
                #expect(feeds.last?.target.contains("since=0") == false)
            }
        }
    }
}
