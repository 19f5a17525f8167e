internal import Foundation

/// Runs the cases against one keyspace, and keeps what they measure.
struct GatewayBenchmark {
    private let keyspace: BenchmarkKeyspace
    private let jobs: GatewayJobs
    private let documents: Int
    private(set) var figures = Figures()
    /// Cases that could not be measured.
    private(set) var failed: [GatewayCase] = []
    private var contents = BenchmarkKeyspace.Contents()
    private var rounds = RoundNumbers()

    /// - Parameter documents: How many tasks there should be.
    init(keyspace: BenchmarkKeyspace, directory: String, documents: Int) {
        self.keyspace = keyspace
        self.documents = documents
        jobs = GatewayJobs(keyspace: keyspace, directory: directory)
    }

    /// How many documents there are that each round changes.
    var taskCount: Int { contents.tasks.count }

    /// Loads the documents that are missing.
    ///
    /// - Throws: ``BenchmarkError`` if the keyspace has other documents.
    mutating func prepare() async throws {
        contents = try await keyspace.contents()
        let (found, began) = (contents.tasks.count, ContinuousClock.now)
        try await keyspace.load(&contents, upTo: documents)
        let loaded = contents.tasks.count - found
        let size = BenchmarkKeyspace.task(1, id: "bench-task-00000001", type: "task").count
        print("\(contents.tasks.count) documents of \(size) bytes")
        if loaded > 0 {
            let rate = Double(loaded) / (ContinuousClock.now - began).inSeconds
            print("  \(loaded) of them loaded, \(Int(rate)) documents/s")
        }
        if contents.large + contents.others > 0 {
            print(
                "  there are also \(contents.large) large and \(contents.others) other documents of an earlier run, "
                    + "which every job reads")
        }
        await settle()
    }

    /// Runs a case once. If it fails, it says so and is not run again.
    ///
    /// - Parameter round: Program and yardstick take turns in going first.
    mutating func measure(_ name: GatewayCase, round: Int) async {
        guard !failed.contains(name) else { return }
        do {
            switch name {
            case .latency:
                try await GatewayLatency(keyspace: keyspace, directory: jobs.directory).measure(
                    round: rounds.next(), &figures)
            case .large:
                try await LargeDocuments(jobs: jobs, documents: documents).measure(&rounds, &figures)
            default:
                let (program, yardstick) = try await measured(name, round: round)
                figures.add(program, beside: yardstick, of: name.rawValue)
            }
        } catch {
            failed.append(name)
            FileHandle.standardError.write(Data("changebot-bench: \(name.rawValue): \(error)\n".utf8))
        }
    }

    private mutating func measured(_ name: GatewayCase, round: Int) async throws -> (JobResult, JobResult) {
        let all = contents.count
        switch name {
        case .feedNone: return try feed(rules: 1, round)
        case .rules10: return try feed(rules: 10, round)
        case .rules100: return try feed(rules: 100, round)
        case .rules1000: return try feed(rules: 1000, round)
        case .feedHundredth:
            let matching = contents.tasks.count { $0 % 100 == 0 }
            let rules = try jobs.rule(round: rounds.next(), condition: #""hundredth":true,"#)
            return try beside(feedByCurl, round) { try $0.run(rules, .init(documents: all, written: matching)) }
        case .feedAll: return try await writing(round, besides: GatewayJobs.feed) { try $0.run($1, $2) }
        case .fixNone:
            let rules = try jobs.uselessRules(1)
            return try beside(listByCurl, round) { try $0.fix(rules, .init(documents: all), options: ["--dry-run"]) }
        case .fixAll: return try await writing(round, besides: GatewayJobs.list) { try $0.fix($1, $2) }
        case .export: return try export(to: "all.ndjson", round)
        case .exportGzip: return try export(to: "all.ndjson.gz", round)
        case .importFile: return try await imported(round)
        case .latency, .large: throw BenchmarkError("not a single job")
        }
    }

    // MARK: - Jobs that read

    private func feedByCurl() throws -> JobResult {
        try jobs.curl(GatewayJobs.feed, documents: contents.count)
    }

    private func listByCurl() throws -> JobResult {
        try jobs.curl(GatewayJobs.list, documents: contents.count)
    }

    private func feed(rules count: Int, _ round: Int) throws -> (JobResult, JobResult) {
        let rules = try jobs.uselessRules(count)
        let all = contents.count
        return try beside(feedByCurl, round) { try $0.run(rules, .init(documents: all)) }
    }

    private func export(to name: String, _ round: Int) throws -> (JobResult, JobResult) {
        let folder = jobs.directory + "/export"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let all = contents.count
        return try beside(listByCurl, round) { jobs in
            try jobs.export(to: folder + "/" + name, documents: all)
        }
    }

    /// - Returns: The program's result and the yardstick's.
    private func beside(
        _ yardstick: () throws -> JobResult, _ round: Int, _ program: (GatewayJobs) throws -> JobResult
    ) throws -> (JobResult, JobResult) {
        if round.isMultiple(of: 2) {
            let other = try yardstick()
            return (try program(jobs), other)
        }
        return (try program(jobs), try yardstick())
    }

    // MARK: - Jobs that write

    /// A job that reads and writes all tasks, and a plain client that writes them while curl reads.
    ///
    /// - Parameter path: What curl reads, below the keyspace.
    private mutating func writing(
        _ round: Int, besides path: String,
        _ program: (GatewayJobs, String, GatewayJobs.Expectation) throws -> JobResult
    ) async throws -> (JobResult, JobResult) {
        let tasks = contents.tasks.count
        let (own, other) = (rounds.next(), rounds.next())
        func job() async throws -> JobResult {
            let result = try program(jobs, try jobs.rule(round: own), .init(documents: tasks, written: tasks))
            await settle()
            return result
        }
        func plainWrite() async throws -> JobResult {
            let bulks = PlainClient.bulks(try await keyspace.tasks(withRound: other))
            let curl = Task.detached { [jobs, documents = contents.count] in
                try jobs.curl(path, documents: documents)
            }
            let result = try await keyspace.plain.write(bulks).beside(curl.value)
            await settle()
            return result
        }
        if round.isMultiple(of: 2) {
            let yardstick = try await plainWrite()
            return (try await job(), yardstick)
        }
        let result = try await job()
        return (result, try await plainWrite())
    }

    private mutating func imported(_ round: Int) async throws -> (JobResult, JobResult) {
        let count = documents * 2 / 5
        let stamp = rounds.next()
        func prepared(_ part: String) -> [[UInt8]] {
            (0..<count).map { number in
                let id = "bench-import-\(stamp)-\(part)-\(BenchmarkKeyspace.digits(number))"
                return BenchmarkKeyspace.task(number, id: id, type: "import")
            }
        }
        let file = jobs.directory + "/import.ndjson"
        try Data(prepared("file").flatMap { $0 + [UInt8(ascii: "\n")] }).write(to: URL(fileURLWithPath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        let bulks = PlainClient.bulks(prepared("plain"))
        let yardstick = try await keyspace.plain.write(bulks)
        await settle()
        let program = try jobs.program(["import", file], .init(documents: count, written: count))
        await settle()
        contents.others += 2 * count
        return (program, yardstick)
    }

    /// Until the server has done what it does after a write, more or less.
    ///
    /// Servers that list by a view index what was written only when they are next asked for a list. That is asked for
    /// here, so that no measured job pays for the one before.
    private func settle() async {
        try? await Task.sleep(for: .milliseconds(500))
        _ = try? await keyspace.plain.send("GET", "/_all_docs?limit=1")
    }
}

/// Numbers that no earlier round has used, in this run or another: by the clock.
struct RoundNumbers {
    private var last = Int(Date().timeIntervalSince1970) * 1000

    mutating func next() -> Int {
        last += 1
        return last
    }
}

extension GatewayJobs {
    fileprivate func export(to file: String, documents: Int) throws -> JobResult {
        try program(["export", "--output", file], .init(documents: documents, written: documents)).reading
    }
}

extension JobResult {
    /// Together with another job that began at the same time in another process.
    fileprivate func beside(_ other: JobResult) -> JobResult {
        var both = self
        both.usage = usage.beside(other.usage)
        return both
    }

    /// The same for a job whose `written` counts lines of a file.
    fileprivate var reading: JobResult {
        JobResult(usage: usage, documents: documents, peakMemory: peakMemory)
    }
}
