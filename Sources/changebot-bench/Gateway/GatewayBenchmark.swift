internal import Foundation
internal import GatewayClient

/// A job of the program.
enum GatewayCase: String, CaseIterable {
    case feedNone = "feed-none"
    case feedAll = "feed-all"
    case fixNone = "fix-none"
    case fixAll = "fix-all"
    case export
    case exportGzip = "export-gz"

    /// The targets for the medians.
    var limits: [JobLimit] {
        switch self {
        case .feedNone: [.compared(.processor, -.infinity...0.3), .compared(.wall, 0...1.05)]
        case .fixNone: [.compared(.wall, 0...1.3)]
        case .feedAll, .fixAll: [.compared(.rate, 0.8 ... .infinity), .own(.perRequest, 100 ... .infinity)]
        case .export, .exportGzip: [.compared(.wall, 0...1.1), .compared(.processor, -.infinity...0.5)]
        }
    }
}

/// Runs the cases against one keyspace, and collects their results.
struct GatewayBenchmark {
    private let keyspace: BenchmarkKeyspace
    private let jobs: Jobs
    /// The number of documents.
    private var all: Int
    private(set) var figures = Figures()
    /// From the clock, so that no earlier round has used it, in this run or another.
    private var lastStamp = Int(Date().timeIntervalSince1970) * 1000

    init(keyspace: BenchmarkKeyspace, directory: String, documents: Int) {
        self.keyspace = keyspace
        all = documents
        jobs = Jobs(url: keyspace.url, directory: directory, curlConfiguration: keyspace.curlConfiguration)
    }

    private mutating func newStamp() -> Int {
        lastStamp += 1
        return lastStamp
    }

    /// Loads the missing documents.
    ///
    /// - Throws: ``BenchmarkError`` if the keyspace has other documents.
    mutating func prepare() async throws {
        let tasks = try await keyspace.tasks()
        let missing = (0..<all).filter { !tasks.contains($0) }
        _ = try await keyspace.write(missing.map(BenchmarkKeyspace.newTask))
        all = tasks.count + missing.count
        print("\(all) documents, \(missing.count) of them new")
        await settle()
    }

    /// Runs a case once.
    ///
    /// - Parameter round: The number of the round; program and yardstick alternate in going first.
    mutating func measure(_ name: GatewayCase, round: Int) async throws {
        let (program, yardstick) = try await measured(name, round: round)
        JobMeasure.add(program, beside: yardstick, of: name.rawValue, to: &figures)
    }

    private mutating func measured(_ name: GatewayCase, round: Int) async throws -> (JobResult, JobResult) {
        let all = all
        switch name {
        case .feedNone:
            let rules = try RuleFiles.words(1, in: jobs.directory)
            return try beside(Jobs.feed, round) { try $0.run(rules, documents: all) }
        case .feedAll: return try await writing(Jobs.feed, round) { try $0.run($1, documents: $2, written: $2) }
        case .fixNone:
            let rules = try RuleFiles.words(1, in: jobs.directory)
            return try beside(Jobs.list, round) { try $0.fix(rules, documents: all, options: ["--dry-run"]) }
        case .fixAll: return try await writing(Jobs.list, round) { try $0.fix($1, documents: $2, written: $2) }
        case .export, .exportGzip:
            let file = jobs.directory + (name == .export ? "/all.ndjson" : "/all.ndjson.gz")
            defer { try? FileManager.default.removeItem(atPath: file) }
            return try beside(Jobs.list, round) { jobs in
                try jobs.program(["export", "--output", file], documents: all, written: all)
            }
        }
    }

    /// Measures a reading job, and curl with the same answer.
    ///
    /// - Parameter path: The path that curl reads, relative to the keyspace.
    private func beside(
        _ path: String, _ round: Int, _ program: (Jobs) throws -> JobResult
    ) throws -> (JobResult, JobResult) {
        let early = round.isMultiple(of: 2) ? try jobs.curl(path, documents: all) : nil
        return (try program(jobs), try early ?? jobs.curl(path, documents: all))
    }

    /// Measures a job that reads and writes all tasks, and a plain client that writes them while curl reads.
    private mutating func writing(
        _ path: String, _ round: Int, _ program: (Jobs, String, Int) throws -> JobResult
    ) async throws -> (JobResult, JobResult) {
        let (own, other) = (newStamp(), newStamp())
        let early = round.isMultiple(of: 2) ? try await plainWrite(path, other) : nil
        let result = try program(jobs, try jobs.rule(round: own), all)
        await settle()
        if let early { return (result, early) }
        return (result, try await plainWrite(path, other))
    }

    private func plainWrite(_ path: String, _ stamp: Int) async throws -> JobResult {
        let documents = try await keyspace.tasks(withRound: stamp)
        let curl = Task.detached { [jobs, all] in try jobs.curl(path, documents: all).usage }
        var result = try await keyspace.write(documents)
        let reading = try await curl.value
        result.usage.wall = max(result.usage.wall, reading.wall)
        result.usage.processor += reading.processor
        result.usage.waits += reading.waits
        await settle()
        return result
    }

    /// Waits until the server has roughly finished its work after a write.
    ///
    /// Servers that list by a view index new documents only at the next list request. It is sent here, so that no
    /// measured job pays for the previous one.
    private func settle() async {
        try? await Task.sleep(for: .milliseconds(500))
        var pages = DocumentPages(of: keyspace.gateway, includesDocuments: false)
        _ = try? await pages.next()
    }
}
