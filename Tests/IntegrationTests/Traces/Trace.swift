import BotState
import Foundation
import GatewayClient
import Locking
import LosslessJSON
import TestKit

/// The visible steps of runs, in order: requests to the gateway and to receivers, transactions of the state, and synced
/// lines. Each is one line of text.
///
/// Left out are requests for the feed, for information about the database, for the expiry of a few documents, and
/// everything before the first other request of a run. They do not depend on the rules, or run concurrently with the
/// delivery.
final class Trace: Sendable {
    private enum Phase { case idle, begun, recording }

    private struct State {
        var lines: [String] = []
        var phase = Phase.idle
    }

    private let state = Monitor(State())
    /// A member that shares the work saves checkpoints and reports its rules at intervals.
    private let ignoredTables: Set<String>
    private let isShared: Bool

    /// - Parameter isShared: Whether the process shares the work of a fleet.
    init(isShared: Bool = false) {
        self.isShared = isShared
        let more = isShared ? ["checkpoint", "identity", "aggregate_rule"] : []
        ignoredTables = Self.timedTables.union(more)
    }

    var text: String { state.with { $0.lines.map { $0 + "\n" }.joined() } }

    /// Begins a part. It is recorded from the first request for changes or documents, or from its start.
    func begin(_ title: String, fromStart: Bool = false) {
        state.with { state in
            if !state.lines.isEmpty { state.lines.append("") }
            state.lines.append("== \(title)")
            state.phase = fromStart ? .recording : .begun
        }
    }

    /// Ends the part.
    func end() { state.with { $0.phase = .idle } }

    func add(_ subject: Subject, _ text: String) {
        let line = Self.line(subject, text)
        state.with { state in
            guard state.phase == .recording else { return }
            // The documents of one round may enter the log together or one after the other.
            if subject == .log, state.lines.last == line { return }
            state.lines.append(line)
        }
    }

    private static func line(_ subject: Subject, _ text: String) -> String {
        subject.rawValue.padding(toLength: 10, withPad: " ", startingAt: 0) + text
    }

    /// Blocks until the part has a line that ends with this text.
    func block(until ending: String) { state.block { $0.lines.contains { $0.hasSuffix(ending) } } }

    /// Waits for a while until this is the last line: a test may see a change before the process that made it.
    func waitForLast(_ subject: Subject, _ text: String) async throws {
        let line = Self.line(subject, text)
        let end = ContinuousClock.now + .seconds(10)
        while state.with({ $0.lines.last != line }), .now < end { try await Task.sleep(for: .milliseconds(5)) }
    }

    /// What a step is sent to.
    enum Subject: String { case gateway, receiver, state, log, lines }

    // MARK: - Requests

    func add(_ exchange: RecordingProxy.Exchange) {
        let parts = exchange.request.target.split(separator: "?", maxSplits: 1).map { String($0) }
        let path = parts[0].split(separator: "/").dropFirst().joined(separator: "/")
        if path == "_changes" { return start() }
        if isShared, path.hasPrefix("_local/") { return }
        let isIgnoredRead = path.isEmpty || path.hasPrefix("_local/") || parts.last == "show_exp=true"
        if isIgnoredRead, exchange.request.method == "GET" { return }
        if !path.hasPrefix("_local/") { start() }
        let query = parts.count > 1 ? "?" + Self.withoutDigests(parts[1]) : ""
        let request = [exchange.request.method, path + query] + Self.documentsNamed(in: exchange.request.body, path)
        let answer = ["\(exchange.status)"] + (path == "_bulk_docs" ? Self.outcomes(exchange.body) : [])
        add(.gateway, "\(request.joined(separator: " ")) -> \(answer.joined(separator: " "))")
    }

    private func start() { state.with { if $0.phase == .begun { $0.phase = .recording } } }

    /// The documents that a request's body names, with their generations.
    private static func documentsNamed(in body: [UInt8], _ path: String) -> [String] {
        guard let body = try? JSONText(body).root else { return [] }
        if let keys = body["keys"] { return keys.elements.compactMap(\.string) }
        guard let documents = body["docs"] else { return [] }
        return documents.elements.map { document in
            let id = document["_id"] ?? document["id"]
            let isDeleted = document["_deleted"]?.bool == true
            return "\(id?.string ?? "?")\(generation(document["_rev"]))\(isDeleted ? "(deleted)" : "")"
        }
    }

    private static func outcomes(_ body: [UInt8]) -> [String] {
        guard let outcomes = try? JSONText(body).root else { return [] }
        return outcomes.elements.map { outcome in
            let result = outcome["error"]?.string.map { "(\($0))" } ?? generation(outcome["rev"])
            return "\(outcome["id"]?.string ?? "?")\(result)"
        }
    }

    private static func generation(_ revision: JSONValue?) -> String {
        guard let text = revision?.string else { return "" }
        return "@" + text.prefix { $0 != "-" }
    }

    /// The query with generations instead of revisions.
    private static func withoutDigests(_ query: String) -> String {
        query.replacing(/([0-9]+)-[0-9a-f]{32}/) { "\($0.output.1)" }
    }

    func add(_ request: TestRequest, status: Int) {
        let document = request.documentID
        add(.receiver, "\(request.method) \(request.target)\(document.isEmpty ? "" : " \(document)") -> \(status)")
    }

    // MARK: - Steps that are durable

    func add(_ step: DurableStep) {
        switch step {
        case .lines(let path, let lines):
            let count = lines.count { $0 == UInt8(ascii: "\n") }
            add(.lines, "\(path.split(separator: "/").last ?? "") \(count)")
        case .transaction(let statements):
            let changes = statements.flatMap(Self.changes)
            let subject: Subject = changes.contains { Self.tablesOfLog.contains($0.table) } ? .log : .state
            let counted = Self.counted(
                changes.filter { !ignoredTables.contains($0.table) && $0 != Self.thinnedHistory })
            if !counted.isEmpty { add(subject, counted.joined(separator: ", ")) }
        }
    }

    private static let tablesOfLog: Set = ["work", "parked", "partition_position"]
    /// Their changes depend on the time: leases, members, and what is pruned at intervals.
    private static let timedTables: Set = ["lease", "member", "mark"]

    private struct TableChange: Hashable {
        let kind: String
        let table: String
    }

    /// The time decides which old checkpoints are removed.
    private static let thinnedHistory = TableChange(kind: "delete", table: "checkpoint")

    /// The tables that a statement changes, and the kinds of change.
    private static func changes(_ sql: String) -> [TableChange] {
        let pattern = /\b(INSERT(?: OR [A-Z]+)? INTO|UPDATE|DELETE FROM)\s+([a-z_]+)/
        return sql.matches(of: pattern).map { match in
            let kind = match.output.1.prefix { $0 != " " }.lowercased()
            return TableChange(kind: kind, table: String(match.output.2))
        }
    }

    /// Combines repeated changes, in the order of their first occurrence.
    private static func counted(_ changes: [TableChange]) -> [String] {
        var counts: [TableChange: Int] = [:]
        for change in changes { counts[change, default: 0] += 1 }
        var seen: Set<TableChange> = []
        return changes.filter { seen.insert($0).inserted }.map { change in
            let count = counts[change] ?? 1
            return "\(change.kind) \(change.table)\(count > 1 ? " x\(count)" : "")"
        }
    }
}
