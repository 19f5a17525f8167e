internal import ArgumentParser
internal import Foundation
internal import GatewayClient

/// Shows that nothing is lost, repeated or altered. Writers change documents, the gateway fails at random, and the bot
/// is killed and restarted. Then every document is checked.
@main
struct Soak: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changebot-soak",
        abstract: "Kill a bot at random moments, and check that nothing is lost.",
        discussion: """
            Needs the program in the same folder: swift build -c release. Runs on an embedded gateway with injected \
            faults, or with --gateway on any gateway, where its documents have ids that begin with 'soak-'. \
            CHANGEBOT_USER and CHANGEBOT_PASSWORD log in there.
            """)

    @Option(help: "Documents that the rule matches.")
    var documents = 20_000

    @Option(help: "Documents that the rule fails on: each must become a dead letter.")
    var broken = 20

    @Option(help: "How often the bot is killed (SIGKILL).")
    var kills = 50

    @Option(help: "The number of concurrent writers.")
    var writers = 4

    @Option(help: "The seed of the random numbers.")
    var seed: UInt64 = 1

    @Flag(help: "Change tasks at random, and check their counts, which the bot keeps as documents.")
    var counts = false

    @Option(help: "With --counts: how many changes.")
    var changes = 20_000

    @Option(help: "An existing keyspace, instead of an embedded gateway with faults.")
    var gateway: String?

    @Option(help: "Faults for the embedded gateway, instead of the default ones.")
    var faults: String?

    func validate() throws {
        guard documents > 0, broken >= 0, kills >= 0, writers > 0 else {
            throw ValidationError("counts must not be negative, and there must be at least one document and one writer")
        }
    }

    func run() async throws {
        let environment = try SoakEnvironment(faults: faults, rules: counts ? CountsSoak.rules : Population.rules)
        defer { environment.remove() }
        let server =
            if let gateway { SoakEnvironment.Server(url: gateway, process: nil) } else {
                try await environment.startGateway(seed: seed)
            }
        let url = try GatewayURL(server.url)
        if counts { return try await checkCounts(environment, server, url) }
        let population = Population(documents: documents, broken: broken)
        try await SoakWriter(url, seed: seed).create(population)
        Report.say("\(documents) documents and \(broken) broken ones are at \(server.url)")

        let edits = EditCount()
        try await withThrowingTaskGroup { group in
            for writer in 0..<writers {
                group.addTask {
                    var phone = SoakWriter(url, seed: seed &+ UInt64(writer) + 1)
                    try await phone.edit(population, part: writer, of: writers, counting: edits)
                }
            }
            group.addTask {
                try await environment.killRepeatedly(bot: server.url, times: kills, seed: seed)
                edits.stop()
            }
            try await group.waitForAll()
        }
        Report.say("\(kills) kills and \(edits.total) edits; checking the final state")
        let letters = try await environment.finish(bot: server.url)
        let check = try await DocumentCheck(url, population, edits: edits, deadLetters: letters)
        Report.say(check.text)
        if !check.hasPassed { throw ExitCode(1) }
    }

    private func checkCounts(
        _ environment: SoakEnvironment, _ server: SoakEnvironment.Server, _ url: GatewayURL
    ) async throws {
        let soak = CountsSoak(url: url, tasks: max(1, changes / 10), lists: max(1, changes / 500))
        let edits = EditCount()
        try await withThrowingTaskGroup { group in
            for writer in 0..<writers {
                group.addTask { try await soak.change(changes, counting: edits, seed: seed &+ UInt64(writer) + 1) }
            }
            group.addTask { try await environment.killRepeatedly(bot: server.url, times: kills, seed: seed) }
            try await group.waitForAll()
        }
        Report.say("\(edits.total) changes at \(server.url), \(kills) kills; checking the final state")
        let letters = try await environment.finish(bot: server.url)
        let wrong = try await soak.check() + letters.map { "\($0): dead letter" }
        let result = wrong.isEmpty ? "as a full count finds them" : "\(wrong.count) are wrong:"
        Report.say("counts of \(soak.lists) lists with \(soak.tasks) tasks: \(result)")
        for line in wrong.prefix(20) { Report.say("  " + line) }
        if !wrong.isEmpty { throw ExitCode(1) }
    }
}

enum Report {
    static func say(_ text: String) { print(text) }
}
