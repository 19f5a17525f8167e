import Fleet
import Testing

/// What the conformance suite needs: a new log for each rule, with 4 partitions and no history.
struct WorkLogTestBed: Sendable {
    /// Opens the log as a member of that name.
    var member: @Sendable (String) async throws -> any WorkLog
    /// Lets time pass for the engine.
    var pass: @Sendable (Duration) async throws -> Void
    /// Loses every commit since the previous call, as a promoted standby does; the first call only sets the start. Nil:
    /// the engine can't.
    var loseCommits: (@Sendable () async throws -> Void)?
}

/// The behaviour of every ``WorkLog``, whatever its engine. Run ``rules`` against each.
struct WorkLogConformance: Sendable, CustomTestStringConvertible {
    let name: String
    let check: @Sendable (WorkLogTestBed) async throws -> Void

    init(_ name: String, _ check: @escaping @Sendable (WorkLogTestBed) async throws -> Void) {
        (self.name, self.check) = (name, check)
    }

    var testDescription: String { name }

    static let rules = leases + leading + working + parking + losses
}

// MARK: - What the rules share

/// Ids of the partitions 0 to 3 of 4; two of each.
func id(_ partition: Int, _ number: Int = 0) -> DocumentKey {
    let all = (0..<100).map { DocumentKey("doc\($0)") }
    return all.filter { Partitioning.partition(of: $0, among: 4) == partition }[number]
}

func entry(_ sequence: Int, _ id: DocumentKey, _ revision: String = "1-a") -> FeedEntry {
    FeedEntry(sequence: "\(sequence)", id: id, revision: revision)
}

extension WorkLog {
    /// Leads and appends, with sequences that count from 1.
    func fill(_ ids: [DocumentKey]) async throws {
        let term = try #require(try await lead())
        let entries = ids.enumerated().map { entry(Int(term.n) + $0.offset + 1, $0.element) }
        try await resign(try await append(entries, upTo: "\(term.n + Int64(ids.count))", term))
    }

    /// Claims one partition.
    func take(_ partition: Int) async throws -> Claim {
        try #require(try await claim([partition], atMost: 1).first)
    }
}

/// Expects `.fenced`.
func expectFenced<Result>(
    _ body: () async throws -> Result, sourceLocation: SourceLocation = #_sourceLocation
) async {
    do {
        _ = try await body()
        Issue.record("nothing was thrown", sourceLocation: sourceLocation)
    } catch WorkLogError.fenced {
    } catch { Issue.record("\(error) instead of .fenced", sourceLocation: sourceLocation) }
}
