internal import Foundation
internal import GatewayClient

/// The time from the start of the program to its write of the first change, which is there already.
struct StartBenchmark {
    static let name = "start"
    private static let starts = 20

    private enum State: String, CaseIterable {
        case new, existing

        var name: String { "\(StartBenchmark.name), \(rawValue) state" }
    }

    let directory: String

    func measure(_ figures: inout Figures) throws {
        let file = directory + "/start.yaml"
        try Data(LatencyBenchmark.rules.utf8).write(to: URL(fileURLWithPath: file))
        var spans: [State: [Double]] = [:]
        for _ in 0..<Self.starts {
            let server = try WireServer(WireFeed(.syncGateway), rowCount: 0)
            defer { server.stop() }
            let state = directory + "/start"
            defer { try? FileManager.default.removeItem(atPath: state) }
            let arguments = [
                Program.path, "run", "--quiet", "--gateway", server.newURL(), "--rules", file, "--state", state,
            ]
            for state in State.allCases { spans[state, default: []] += try start(arguments, server.database) }
        }
        for state in State.allCases { LatencyBenchmark.add(spans[state] ?? [], of: state.name, &figures) }
    }

    private func start(_ arguments: [String], _ database: WireDatabase) throws -> [Double] {
        let numbers = database.post()
        let bot = try Program.start(arguments)
        defer {
            bot.terminate()
            bot.waitUntilExit()
        }
        try LatencyBenchmark.wait(bot) { database.hasWritten(numbers) }
        return database.latencies(of: numbers)
    }

    static func table(of figures: Figures) -> Table {
        LatencyBenchmark.table("start to _bulk_docs, ms", of: State.allCases.map(\.name), figures)
    }
}
