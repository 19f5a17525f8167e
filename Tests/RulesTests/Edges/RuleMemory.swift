import LosslessJSON
import Testing

@testable import Rules

/// A rule set, and the state of one document that its rules last saw.
struct RuleMemory {
    let set: RuleSet
    private(set) var lastSeen: [String: LastSeen] = [:]

    init(_ lines: String...) throws {
        set = try ruleSet("version: 1\nrules:\n" + lines.map { "- { \($0) }\n" }.joined())
    }

    init(yaml: String) throws { set = try ruleSet(yaml) }

    /// Decides a document, and remembers what the rules saw.
    ///
    /// - Parameter isRecorded: False: the process is killed before it records anything.
    @discardableResult
    mutating func look(
        _ document: String, isDeleted: Bool = false, isLost: Bool = false, onlyLearns: Bool = false,
        isRecorded: Bool = true
    ) async throws -> Decision {
        let input = DecisionInput(
            try JSONText(document), isDeleted: isDeleted, lastSeen: lastSeen, isLost: isLost, onlyLearns: onlyLearns)
        let decision = try #require(await set.makeDecider().decide(on: [input], now: 0).first)
        // What a decision needs less time for: see ``Decider/seesNothingNew(in:since:)``.
        if !isDeleted, !isLost, !onlyLearns, endsAtTheIntake(input.document) {
            #expect(decision.error == nil && decision.fired.isEmpty && decision.seen.isEmpty && !decision.isChanged)
        }
        guard isRecorded, decision.error == nil else { return decision }
        for seen in decision.seen {
            let count = set.comparing.first { $0.name == seen.rule }?.memberCount ?? 0
            lastSeen[seen.rule] = LastSeen(encoded: seen.lastSeen.encoded, memberCount: count)
            #expect(lastSeen[seen.rule] == seen.lastSeen)
        }
        return decision
    }

    /// The rules saw this document, as if their `if` held.
    mutating func remember(_ document: String) throws {
        let root = try JSONText(document).root
        for rule in set.rules {
            guard let edges = rule.edges,
                let seen = try edges.observe(rule, root, .present, before: nil, MatchScratch())
            else { continue }
            lastSeen[rule.name] = edges.lastSeen(seen, matches: seen.matches)
        }
    }

    /// Whether the document is not even decided, because the rules see nothing new.
    func endsAtTheIntake(_ document: JSONText) -> Bool {
        let decider = set.makeDecider()
        return decider.onlyCompares(document.root) && decider.seesNothingNew(in: document.root, since: lastSeen)
    }

    /// Compares a revision that the rules wrote with what they saw.
    func compare(_ document: String, isNewest: Bool = true, isLost: Bool = false) throws -> Decider.OwnRevision {
        let input = DecisionInput(try JSONText(document), lastSeen: lastSeen, isLost: isLost)
        return set.makeDecider().compare(input, isNewest: isNewest)
    }

    /// The rules that fire on the document.
    mutating func fired(_ document: String, isDeleted: Bool = false, isLost: Bool = false) async throws -> [String] {
        try await look(document, isDeleted: isDeleted, isLost: isLost).fired.map { set.names[$0] }
    }
}

extension Decision {
    /// The lines that rules emit.
    var lines: [String] {
        outside.compactMap { effect in
            guard case .emit(let emit) = effect.kind else { return nil }
            return String(decoding: emit.bytes(nil), as: UTF8.self)
        }
    }
}
