internal import JQ
package import LosslessJSON

/// Decides about documents. One per task: it reuses buffers of its own.
package final class Decider {
    private let ruleSet: RuleSet
    private let scratch = MatchScratch()
    private var candidates: RuleBits
    /// How long the last ``decide(on:now:willDecide:)`` waited for jq programs; nil if none ran.
    package private(set) var jqTime: Duration?

    init(_ ruleSet: RuleSet) {
        self.ruleSet = ruleSet
        candidates = ruleSet.index.makeBits()
    }

    /// Whether any rule may fire on a document as it arrived. If false, the decision would change nothing; if true, it
    /// may still change nothing, or be an error.
    ///
    /// Runs no jq program. Allocates nothing, unless a compared string has escapes.
    ///
    /// - Parameters:
    ///   - document: May be part of a larger text.
    ///   - isDeleted: Whether the change is a tombstone.
    package func mayFire(on document: JSONValue, isDeleted: Bool) -> Bool {
        ruleSet.index.find(for: document, isDeleted: isDeleted, into: &candidates)
        do throws(MatchError) {
            var at = 0
            while let rule = candidates.next(from: at) {
                if try ruleSet.rules[rule].fires(on: document, scratch) {
                    return try ruleSet.filter?.selector.matches(document, scratch) ?? true
                }
                at = rule + 1
            }
            return false
        } catch {
            return true
        }
    }

    /// One decision for each document: the rules in order, each on the document as the ones before left it, repeated
    /// until a pass changes nothing.
    ///
    /// The decisions run side by side: what they need of jq at the same time is one round trip. Without jq, nothing
    /// waits. An error is part of a decision and never thrown, so no document can stop those behind it.
    ///
    /// - Parameters:
    ///   - now: The programs' `$now`, in seconds since 1970.
    ///   - willDecide: Called with the index of a document before it is processed, also each time that it continues
    ///     with answers of jq; called with nil while jq is waited for, which runs in a process of its own.
    package func decide(
        on inputs: [DecisionInput], now: Int, willDecide: (Int?) -> Void = { _ in }
    ) async -> [Decision] {
        jqTime = nil
        var runs = inputs.map { DecisionRun($0, ruleSet, now: now) }
        var decisions = inputs.map { Decision($0.document) }
        var waiting: [(run: Int, calls: [JQCall])] = []
        func advance(_ index: Int, with outcomes: [JQOutcome]) -> [JQCall] {
            willDecide(index)
            switch runs[index].advance(with: outcomes, scratch) {
            case .asks(let calls): return calls
            case .decided(let decision):
                decisions[index] = decision
                return []
            }
        }
        for index in runs.indices {
            let calls = advance(index, with: [])
            if !calls.isEmpty { waiting.append((index, calls)) }
        }
        while !waiting.isEmpty, let jq = ruleSet.jq {
            willDecide(nil)
            let askedAt = ContinuousClock.now
            var outcomes = await jq.run(waiting.flatMap(\.calls))[...]
            jqTime = (jqTime ?? .zero) + askedAt.duration(to: .now)
            let answered = waiting
            waiting = []
            for (index, calls) in answered {
                let next = advance(index, with: Array(outcomes.prefix(calls.count)))
                outcomes = outcomes.dropFirst(calls.count)
                if !next.isEmpty { waiting.append((index, next)) }
            }
        }
        return decisions
    }
}
