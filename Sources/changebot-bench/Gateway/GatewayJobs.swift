internal import Foundation

/// Runs the program and curl, and looks whether they did what they should.
struct GatewayJobs: Sendable {
    /// All changes with their documents, below the keyspace.
    static let feed = "/_changes?include_docs=true"
    /// All documents.
    static let list = "/_all_docs?include_docs=true"

    let keyspace: BenchmarkKeyspace
    /// For rules, summaries, state and output.
    let directory: String

    /// What the program should have done.
    struct Expectation {
        /// The documents that it reads, or imports.
        let documents: Int
        var written = 0
    }

    /// Runs `changebot run --once`, with a state folder of its own.
    func run(_ rules: String, since: String = "0", _ expectation: Expectation) throws -> JobResult {
        try program(
            ["run", "--once", "--since", since, "--rules", rules, "--state", directory + "/state"], expectation)
    }

    /// Runs `changebot fix`, with a state folder of its own.
    func fix(_ rules: String, _ expectation: Expectation, options: [String] = []) throws -> JobResult {
        try program(["fix", "--rules", rules, "--state", directory + "/state"] + options, expectation)
    }

    /// - Throws: ``BenchmarkError`` if it fails, or if its summary has other numbers.
    func program(_ arguments: [String], _ expectation: Expectation) throws -> JobResult {
        let (summary, errors) = (directory + "/summary.json", directory + "/errors.txt")
        defer { try? FileManager.default.removeItem(atPath: directory + "/state") }
        let usage = try Usage(
            of: [Program.path] + arguments + ["--gateway", keyspace.url, "--quiet", "--summary", summary],
            errors: errors)
        guard usage.status == 0 else {
            let text = FileManager.default.contents(atPath: errors).map { String(decoding: $0, as: UTF8.self) } ?? ""
            throw BenchmarkError("changebot \(arguments[0]) failed (\(usage.status)): \(text)")
        }
        let (read, written) = (Program.integer("changes", of: summary), Program.integer("written", of: summary))
        guard read >= expectation.documents, written == expectation.written else {
            throw BenchmarkError(
                "changebot \(arguments[0]) read \(read) of \(expectation.documents) documents and wrote \(written), "
                    + "not \(expectation.written)")
        }
        var result = JobResult(usage: usage, documents: expectation.documents, written: written)
        result.peakMemory = Double(Program.integer("peak_memory", of: summary)) / 1_048_576
        if written > 0 { result.requests = Program.integer("write_requests", of: summary) }
        return result
    }

    /// Reads an answer with curl.
    ///
    /// - Parameter path: Below the keyspace.
    func curl(_ path: String, documents: Int) throws -> JobResult {
        let usage = try Usage(
            of: ["/usr/bin/env", "curl", "-sSf", "-o", "/dev/null", "-K", "-", keyspace.url + path],
            input: keyspace.curlConfiguration)
        guard usage.status == 0 else { throw BenchmarkError("curl failed (\(usage.status)): \(path)") }
        return JobResult(
            usage: usage, documents: documents, peakMemory: usage.peakMemory.map { Double($0) / 1_048_576 })
    }

    /// Writes a rule that gives each document of a type the number of the round, so that each round writes.
    ///
    /// - Parameter condition: Further members of `when`.
    /// - Returns: The path of the file.
    func rule(round: Int, type: String = "task", condition: String = "") throws -> String {
        let file = directory + "/round.json"
        let when = #"{"type":"\#(type)",\#(condition)"round":{"$ne":\#(round)}}"#
        let rule = #"{"name":"round","when":\#(when),"then":[{"merge":{"round":\#(round)}}]}"#
        try Data(#"{"version":1,"rules":[\#(rule)]}"#.utf8).write(to: URL(fileURLWithPath: file))
        return file
    }

    /// Writes rules that match nothing, and that the program finds through an index.
    ///
    /// - Returns: The path of the file.
    func uselessRules(_ count: Int) throws -> String {
        try RuleFiles.write(count, in: directory) { "(?i)^word \($0)$" }
    }
}
