import Foundation
import GatewayClient
import Locking
import LosslessJSON
import TestKit
import Testing

/// A member that shares the work is killed, or suspended for longer than its lease, while it sends webhooks.
@Suite(.serialized, .limitedParallelism(isLong: true)) struct FleetKillTests {
    private static let count = 60

    private static func rules(_ receiver: TestServer) -> String {
        """
        - name: tell
          when: { type: task, done: { $exists: false } }
          then:
            - webhook: { url: '\(receiver.url("/tell"))', timeout: 5m, token_file: token }
            - merge: { done: true }
        """
    }

    /// A receiver of webhooks that answers only once it is allowed to.
    private struct Receiver {
        /// The ids of the events of each document.
        let events = Monitor<[String: [String]]>([:])
        /// The number of requests of each member, by its token.
        let senders = Monitor<[String: Int]>([:])
        let mayAnswer = Monitor(true)

        func start() throws -> TestServer {
            try TestServer { [events, senders, mayAnswer] connection in
                try connection.serve { request in
                    let id = request.values(of: "webhook-id").first ?? ""
                    let sender = request.values(of: "authorization").first ?? ""
                    senders.with { $0[sender, default: 0] += 1 }
                    let subject = try JSONText(request.body).root["subject"]?.string ?? ""
                    events.with { $0[subject, default: []].append(id) }
                    mayAnswer.block { $0 }
                    try connection.answer(204)
                }
            }
        }

        func total(of member: Int) -> Int { senders.quietly { $0["Bearer member\(member)"] ?? 0 } }

        var total: Int { events.quietly { $0.values.reduce(0) { $0 + $1.count } } }

        func wait(for count: Int) async { await events.wait { $0.values.reduce(0) { $0 + $1.count } >= count } }
    }

    /// Two members, each with half of the partitions.
    private static func with(
        _ body: (CommandTestBed, _ engine: [String], Receiver, WatchedBot, WatchedBot) async throws -> Void
    ) async throws {
        let receiver = Receiver()
        let server = try receiver.start()
        // Otherwise its threads would wait forever.
        defer { receiver.mayAnswer.with { $0 = true } }
        let postgres = try TestPostgres.shared
        try await CommandTestBed.with(rules: rules(server)) { bed in
            let engine = ["--engine", postgres.url(), "--fleet", postgres.uniqueName("kill"), "--lease", "8s"]
            func start(_ number: Int) async throws -> WatchedBot {
                // The same rules, with a token by which the receiver identifies the member.
                let folder = bed.folder + "/member\(number)"
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                try FileManager.default.copyItem(atPath: bed.folder + "/r.yaml", toPath: folder + "/r.yaml")
                try Data("member\(number)".utf8).write(to: URL(fileURLWithPath: folder + "/token"))
                chmod(folder + "/token", 0o600)
                return try await WatchedBot.start(
                    ["--gateway", bed.url, "--rules", folder + "/r.yaml", "--state", bed.state + "\(number)"]
                        + engine + ["--role", "auto", "--partitions", "8"])
            }
            let (first, second) = (try await start(1), try await start(2))
            try await wait(engine, until: ["4", "4"])
            try await body(bed, engine, receiver, first, second)
            #expect(await second.process.stop() == 0)
        }
    }

    /// Returns once the members have these numbers of partitions.
    private static func wait(_ engine: [String], until shares: [String]) async throws {
        while true {
            let output = try await Program.run(["fleet", "status", "--json"] + engine).output
            let members = (try? JSONText(output))?.root["members"].map { Array($0.elements) } ?? []
            let found = members.compactMap { $0["partitions"].map { String(decoding: $0.bytes, as: UTF8.self) } }
            if found.sorted() == shares { return }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    /// Returns once everything is recorded, so that nothing would be repeated if a member lost a lease now.
    private static func waitForEmptyLog(_ engine: [String]) async throws {
        while true {
            let output = try await Program.run(["fleet", "status", "--json"] + engine).output
            if (try? JSONText(output))?.root["shared"]?["waiting"]?.integer == 0 { return }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    /// Each document was written once, and all its events have the same id.
    private static func check(_ bed: CommandTestBed, _ receiver: Receiver) async throws {
        let events = receiver.events.quietly { $0 }
        #expect(events.count == count)
        #expect(events.values.allSatisfy { Set($0).count == 1 && $0.count <= 2 }, "\(events)")
        for number in 1...count {
            let document = try await bed.document(DocumentID("t\(number)"))
            #expect(document?.root["_rev"]?.string?.hasPrefix("2-") == true, "t\(number)")
        }
    }

    private static func load(_ bed: CommandTestBed) async throws {
        try await bed.put((1...count).map { #"{"_id":"t\#($0)","type":"task"}"# })
    }

    private static func waitUntilDone(_ bed: CommandTestBed) async throws {
        _ = try await bed.wait(for: (1...count).map { DocumentID("t\($0)") }) { $0["done"] != nil }
    }

    @Test func otherMemberTakesOverFromAKilledOneAndRepeatsOnlyWhatWasUnderWay() async throws {
        try await Self.with { bed, engine, receiver, first, _ in
            receiver.mayAnswer.with { $0 = false }
            try await Self.load(bed)
            // Eight from each member.
            await receiver.wait(for: 16)
            first.process.kill()
            await first.process.wait()
            receiver.mayAnswer.with { $0 = true }
            try await Self.waitUntilDone(bed)
            try await Self.wait(engine, until: ["8"])
            try await Self.check(bed, receiver)
            #expect(receiver.total == Self.count + 8)
        }
    }

    @Test func memberThatStoodStillForLongerThanItsLeaseHasNoMoreEffects() async throws {
        try await Self.with { bed, engine, receiver, first, _ in
            receiver.mayAnswer.with { $0 = false }
            try await Self.load(bed)
            await receiver.wait(for: 16)
            first.process.suspend()
            receiver.mayAnswer.with { $0 = true }
            try await Self.waitUntilDone(bed)
            try await Self.waitForEmptyLog(engine)
            #expect(receiver.total >= Self.count + 8)
            let sent = receiver.total(of: 1)
            #expect(sent == 8)
            first.process.resume()
            // The member has noticed the loss of its leases, and shares the work again.
            try await Self.wait(engine, until: ["4", "4"])
            try await Self.check(bed, receiver)
            #expect(receiver.total(of: 1) == sent)
            let noLoss = "changebot_fleet_lease_losses_total{bot=\"\(engine[3])\"} 0\n"
            while try await first.get("metrics").body.contains(noLoss) {
                try await Task.sleep(for: .milliseconds(200))
            }
            #expect(await first.process.stop() == 0)
        }
    }
}
