import DocumentFlow
import EmbeddedGateway
import GatewayClient
import TestKit
import Testing

/// A bot that is not an administrator, with the sync function that the project ships as an example.
@Suite(.limitedParallelism) struct RestrictedBotTests {
    private func settings(_ name: String) -> GatewaySettings {
        var settings = GatewaySettings()
        settings.credentials = .basic(user: name, password: "\(name)-secret")
        return settings
    }

    private func isWritten(_ gateway: Gateway, _ id: String, _ body: String) async throws -> Bool {
        let document = BulkDocument(id: DocumentID(id), segments: [Array(body.utf8)])
        if case .written = try await gateway.bulkDocs([document])[0] { return true }
        return false
    }

    @Test func moderatorSeesAllListsAndWritesTasksOnly() async throws {
        var configuration = EmbeddedGateway.Configuration(logger: BotTestBed.logger)
        configuration.users = try EmbeddedGateway.Users.parse(
            BotTestBed.asset("todo-gateway.conf"), database: "todo")
        try await withDirectory { directory in
            try await BotTestBed.serve(configuration, in: directory) { served in
                var bed = BotTestBed(url: served.url, settings: settings("amy"), directory: directory)
                bed.settings = settings("bot")
                let list = #"{"_id":"amy.x","type":"task-list","name":"Food","owner":"amy"}"#
                #expect(try await isWritten(bed.phone, "amy.x", list))
                try await bed.load([task("t1", "apple"), task("t2", "Coffee"), task("t3", "rice")])

                let counters = try await bed.runOnce()
                #expect(counters.written == 2)
                #expect(try await bed.phone.attachment("image", of: DocumentID("t1")) == BotTestBed.asset("apple.png"))

                let bot = Gateway(bed.url, settings: settings("bot"))
                #expect(
                    try await !isWritten(
                        bot, "moderator.bot", #"{"_id":"moderator.bot","type":"moderator","username":"bot"}"#))
                let ben = Gateway(bed.url, settings: settings("ben"))
                #expect(try await !isWritten(ben, "t4", task("t4", "apple").body))
                let invitation =
                    #"{"_id":"amy.x.ben","type":"task-list.user","username":"ben","taskList":{"id":"amy.x","owner":"amy"}}"#
                #expect(try await isWritten(bed.phone, "amy.x.ben", invitation))
                #expect(try await isWritten(ben, "t4", task("t4", "apple").body))
                #expect(try await bed.runOnce().written == 1)
                for gateway in [bot, ben, bed.phone] { await gateway.shutdown() }
            }
        }
    }
}
