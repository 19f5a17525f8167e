internal import Foundation
internal import GatewayClient

/// What a figure of a ``WireCase`` is about.
enum WireProgram: String, CaseIterable {
    case changebot, curl
    /// The program's minus curl's, round by round.
    case difference
}

/// What is measured of a program that reads a feed.
enum WireMeasure: String, CaseIterable {
    case wall = "wall time"
    case processor = "processor time"
    case processorPerRows = "processor time per 100,000 rows"
    case waits = "waits per 1,000 rows"
    case preemptions = "preemptions per 1,000 rows"
    case memory = "peak memory"

    var label: String {
        switch self {
        case .wall: "wall s"
        case .processor: "processor s"
        case .processorPerRows: "per 100,000 rows"
        case .waits: "waits/1,000 rows"
        case .preemptions: "preempted/1,000"
        case .memory: "peak MiB"
        }
    }

    var unit: String {
        switch self {
        case .wall, .processor, .processorPerRows: "s"
        case .waits, .preemptions: "context switches"
        case .memory: "MiB"
        }
    }

    var decimals: Int {
        switch self {
        case .wall, .processor, .processorPerRows: 3
        case .waits, .preemptions, .memory: 1
        }
    }

    /// The name in ``Figures``.
    func name(_ program: WireProgram) -> String { "\(program.rawValue): \(rawValue)" }

    func value(_ usage: Usage, rows: Int) -> Double? {
        switch self {
        case .wall: usage.wall
        case .processor: usage.processor
        case .processorPerRows: usage.processor / Double(rows) * 100_000
        case .waits: Double(usage.waits) / Double(rows) * 1000
        case .preemptions: Double(usage.preemptions) / Double(rows) * 1000
        case .memory: usage.peakMemory.map { Double($0) / 1_048_576 }
        }
    }
}

/// One kind of feed, read once by curl and once by the program.
struct WireCase {
    static let shippedRules = "rules/attach-images.yaml"
    /// How much more processor time than curl's the program may take, in seconds per 100,000 rows.
    private static let allowedProcessor = 0.3
    /// When each row comes alone.
    private static let allowedWaits = 200.0

    /// Rules that look at each document.
    enum RuleKind {
        /// Those of the project.
        case shipped
        /// So many of the form `(?i)^word$`, which the program finds through an index.
        case words(Int)
        /// So many other regular expressions: each document meets each of them.
        case patterns(Int)
        /// One that changes every document.
        case change

        var changes: Bool {
            if case .change = self { return true }
            return false
        }
    }

    static let all: [WireCase] =
        [
            WireCase(name: "whole, Sync Gateway", dialect: .syncGateway),
            WireCase(name: "whole, CouchDB", dialect: .couchDB),
        ]
        + [10, 30, 100].map { (pause: Int) in WireCase(name: "paced, \(pause) µs, Sync Gateway", pause: pause) }
        + [WireCase(name: "paced, 30 µs, CouchDB", dialect: .couchDB, pause: 30)]
        + [1, 10, 100, 1000].map { WireCase(name: $0 == 1 ? "1 rule" : "\($0) rules", rules: .patterns($0)) }
        + [WireCase(name: "1000 rules of words", rules: .words(1000)), WireCase(name: "all changed", rules: .change)]

    let name: String
    var dialect = GatewayDialect.syncGateway
    /// In microseconds between two rows; nil: the feed is sent whole.
    var pause: Int?
    var rules = RuleKind.shipped

    func measure(rows: Int, in directory: String, _ figures: inout Figures) throws {
        let server = try WireServer(WireFeed(dialect, pause: pause), rowCount: rows)
        defer { server.stop() }
        let url = server.newURL()
        let curl = try Usage(
            of: ["/usr/bin/env", "curl", "-sf", "-o", "/dev/null", url + "/_changes?include_docs=true"])
        guard curl.status == 0 else { throw BenchmarkError("curl failed: \(curl.status)") }
        let (run, peak) = try runProgram(url, rows: rows, in: directory)
        for measure in WireMeasure.allCases {
            let curls = measure.value(curl, rows: rows)
            let programs = measure == .memory ? peak : measure.value(run, rows: rows)
            let difference = curls.flatMap { curls in programs.map { $0 - curls } }
            for (program, value) in [
                (WireProgram.changebot, programs), (.curl, curls), (.difference, difference),
            ] {
                guard let value else { continue }
                figures.add(value, measure.name(program), unit: measure.unit, of: name)
            }
        }
    }

    /// - Returns: Also the peak of its memory in MiB.
    private func runProgram(_ url: String, rows: Int, in directory: String) throws -> (Usage, Double?) {
        let state = directory + "/state"
        defer { try? FileManager.default.removeItem(atPath: state) }
        let summary = directory + "/summary.json"
        let usage = try Usage(of: [
            Program.path, "run", "--once", "--quiet", "--gateway", url, "--rules", try ruleFile(in: directory),
            "--state", state, "--summary", summary,
        ])
        guard usage.status == 0 else { throw BenchmarkError("\(name): the program failed: \(usage.status)") }
        let (read, matched) = (Program.integer("changes", of: summary), Program.integer("matched", of: summary))
        guard read == rows, matched == (rules.changes ? rows : 0) else {
            throw BenchmarkError("\(name): \(read) of \(rows) rows were read, and \(matched) matched")
        }
        return (usage, Double(Program.integer("peak_memory", of: summary)) / 1_048_576)
    }

    private func ruleFile(in directory: String) throws -> String {
        switch rules {
        case .shipped: Self.shippedRules
        case .words(let count): try RuleFiles.write(count, in: directory) { "(?i)^word \($0)$" }
        case .patterns(let count): try RuleFiles.write(count, in: directory) { "word \($0)\\\\b" }
        case .change: try RuleFiles.write(1, in: directory) { _ in "" }
        }
    }

    /// Whether the medians keep to the limits. Not of cases with many rules.
    func verdicts(_ figures: Figures) -> [String] {
        guard case .shipped = rules else { return [] }
        var lines: [String] = []
        func check(_ value: Double?, atMost limit: Double, _ text: String) {
            guard let value else { return }
            lines.append("\(name): \(text): \(value <= limit ? "ok" : "NOT REACHED")")
        }
        check(
            figures.median(WireMeasure.processorPerRows.name(.difference), of: name), atMost: Self.allowedProcessor,
            "at most curl's processor time + \(Self.allowedProcessor) s per 100,000 rows")
        if pause != nil {
            check(
                figures.median(WireMeasure.waits.name(.changebot), of: name), atMost: Self.allowedWaits,
                "at most one wait per five rows")
        }
        return lines
    }
}

/// Rules with one regular expression each, about the name of a task.
enum RuleFiles {
    /// - Parameter pattern: As it stands in JSON.
    /// - Returns: The path of the file.
    static func write(_ count: Int, in directory: String, pattern: (Int) -> String) throws -> String {
        let rules = (0..<count).map { number in
            #"{"name":"r\#(number)","when":{"type":"task","task":{"$regex":"\#(pattern(number))"}},"#
                + #""then":[{"merge":{"found":\#(number)}}]}"#
        }
        let file = directory + "/rules.json"
        try Data(#"{"version":1,"rules":[\#(rules.joined(separator: ",\n"))]}"#.utf8).write(
            to: URL(fileURLWithPath: file))
        return file
    }
}
