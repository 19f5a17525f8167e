internal import Foundation
internal import GatewayClient

/// How much faster several members decide documents than one process, if a rule takes long.
///
/// Each process is pinned to a processor of its own, so that none gets more by having more helpers. The gateway and
/// PostgreSQL are not: they take what is left. What comes before the first document counts for nothing.
struct SharingBenchmark {
    /// How long the rule takes for a document.
    static let milliseconds = 10.0
    /// Until each process has started its helpers.
    private static let documentsBefore = 100
    private static let patience: Duration = .seconds(600)

    let engine: BenchmarkEngine
    let rule: SlowRule
    let documents: Int

    func measure(_ sharing: SharingCase, round: Int, _ figures: inout Figures) async throws {
        let directory = try Program.makeDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (process, url) = try Program.startGateway(in: directory)
        defer { Program.stop(process) }
        let gateway = Gateway(try GatewayURL(url))
        let fleet = FleetProcesses(engine, name: "bench_\(getpid())_\(round)")
        defer { fleet.end() }
        let members = try start(sharing, url, fleet, in: directory)
        try await decide(0..<Self.documentsBefore, gateway, members)
        let all = Self.documentsBefore..<Self.documentsBefore + documents
        let ids = members.map(\.processIdentifier)
        func used() -> [SharingMeasure: Double] {
            var used: [SharingMeasure: Double] = [
                .members: ProcessorTime.seconds(of: ids),
                .gateway: ProcessorTime.seconds(of: [process.processIdentifier]),
            ]
            used[.engine] = engine.processor
            return used
        }
        let (before, began) = (used(), ContinuousClock.now)
        try await decide(all, gateway, members)
        let seconds = (ContinuousClock.now - began).inSeconds
        figures.add(Double(documents) / seconds, SharingMeasure.rate, of: sharing.name)
        let after = used()
        for measure in SharingMeasure.allCases {
            guard let start = before[measure], let end = after[measure] else { continue }
            figures.add((end - start) * 1000 / Double(documents), measure, of: sharing.name)
        }
        await gateway.shutdown()
    }

    private func start(
        _ sharing: SharingCase, _ url: String, _ fleet: FleetProcesses, in directory: String
    ) throws -> [Process] {
        let options = ["--gateway", url, "--rules", rule.file]
        guard case .members(let count) = sharing else {
            let command = [Program.path, "run", "--quiet", "--state", directory + "/state"] + options
            return [try fleet.add(Processors.pinned(command, to: 0))]
        }
        for number in 0..<count { try fleet.start("auto", on: number, options: options, in: directory) }
        try fleet.waitUntilShared(among: count)
        return fleet.members
    }

    /// Adds documents, and waits until all of them have been written.
    private func decide(_ numbers: Range<Int>, _ gateway: Gateway, _ members: [Process]) async throws {
        guard let start = try await sequence(of: gateway) else { throw BenchmarkError("the gateway has no sequence") }
        for first in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 1000) {
            let part = first..<min(first + 1000, numbers.upperBound)
            _ = try await gateway.bulkDocs(part.map(Self.task))
        }
        let deadline = ContinuousClock.now + Self.patience
        // One change by this program and one by a member.
        while try await sequence(of: gateway) ?? 0 < start + 2 * numbers.count {
            guard members.allSatisfy(\.isRunning), ContinuousClock.now < deadline else {
                throw BenchmarkError("the documents are not decided")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func sequence(of gateway: Gateway) async throws -> Int? {
        try await gateway.databaseInfo().updateSequence.flatMap { Int($0.description) }
    }

    private static func task(_ number: Int) -> BulkDocument {
        let id = "task-\(number)"
        let body = #"{"_id":"\#(id)","type":"task","task":"thing \#(number)","createdAt":"2026-11-20T10:00:00.000Z"}"#
        return BulkDocument(id: DocumentID(id), segments: [Array(body.utf8)])
    }
}

extension Figures {
    fileprivate mutating func add(_ value: Double, _ measure: SharingMeasure, of name: String) {
        add(value, measure.rawValue, unit: measure.unit, of: name)
    }
}
