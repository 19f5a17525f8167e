internal import Foundation
internal import LosslessJSON

/// Runs the program and curl, and checks their results.
struct Jobs: Sendable {
    /// All changes with their documents, below the keyspace.
    static let feed = "/_changes?include_docs=true"
    /// All documents.
    static let list = "/_all_docs?include_docs=true"

    /// The keyspace, without a slash at the end.
    let url: String
    /// The folder for rules, summaries, state and output.
    let directory: String
    /// The configuration that curl reads from stdin (`-K -`), because other users of the machine can see argv.
    var curlConfiguration = ""

    /// Runs `changebot run --once` with a new state folder.
    func run(_ rules: String, documents: Int, written: Int = 0) throws -> JobResult {
        try program(["run", "--once", "--rules", rules], documents: documents, written: written)
    }

    /// Runs `changebot fix` with a new state folder.
    func fix(_ rules: String, documents: Int, written: Int = 0, options: [String] = []) throws -> JobResult {
        try program(["fix", "--rules", rules] + options, documents: documents, written: written)
    }

    /// - Parameters:
    ///   - documents: The number that it must read or import.
    ///   - written: The number that it must write.
    /// - Throws: ``BenchmarkError`` if it fails, or if its summary has other numbers.
    func program(_ arguments: [String], documents: Int, written: Int) throws -> JobResult {
        let (summary, state) = (directory + "/summary.json", directory + "/state")
        defer { try? FileManager.default.removeItem(atPath: state) }
        let isFollowing = ["run", "fix"].contains(arguments[0])
        let usage = try Usage(
            of: [Program.path] + arguments + (isFollowing ? ["--state", state] : [])
                + ["--gateway", url, "--quiet", "--summary", summary])
        let json = FileManager.default.contents(atPath: summary).flatMap { SmallJSON($0) }
        func number(_ member: String) -> Int { json?[member]?.integer ?? 0 }
        guard number("changes") >= documents, number("written") == written else {
            throw BenchmarkError(
                "changebot \(arguments[0]) read \(number("changes")) of \(documents) documents and wrote "
                    + "\(number("written")), not \(written)")
        }
        let requests = number("write_requests")
        return JobResult(
            usage: usage, documents: documents, peakMemory: Double(number("peak_memory")) / 1_048_576,
            perRequest: requests > 0 ? Double(written) / Double(requests) : nil)
    }

    /// Reads an answer with curl.
    ///
    /// - Parameter path: The path relative to the keyspace.
    func curl(_ path: String, documents: Int) throws -> JobResult {
        let usage = try Usage(
            of: ["/usr/bin/env", "curl", "-sSf", "-o", "/dev/null", "-K", "-", url + path], input: curlConfiguration)
        return JobResult(usage: usage, documents: documents)
    }

    /// Writes a rule that gives each task the number of the round, so that each round writes.
    ///
    /// - Returns: The path of the file.
    func rule(round: Int) throws -> String {
        let when = #"{"type":"task","round":{"$ne":\#(round)}}"#
        let rule = #"{"name":"round","when":\#(when),"then":[{"merge":{"round":\#(round)}}]}"#
        return try Program.write(#"{"version":1,"rules":[\#(rule)]}"#, to: directory + "/round.json")
    }
}
