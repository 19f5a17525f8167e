internal import JQ
package import LosslessJSON

/// Decides about documents. One for each task: what it writes to is its own.
package final class Decider {
    private let ruleSet: RuleSet
    private let scratch = MatchScratch()
    private var candidates: RuleBits

    init(_ ruleSet: RuleSet) {
        self.ruleSet = ruleSet
        candidates = ruleSet.index.makeBits()
    }

    /// Whether any rule may fire for a document as it came. Where it is false, ``decide(on:now:)`` has nothing to say;
    /// where it is true, the decision may still be to leave the document as it is, or a fault.
    ///
    /// Asks no jq program. Allocates nothing for documents without escapes in what is compared.
    ///
    /// - Parameters:
    ///   - document: May lie within a larger text.
    ///   - isDeleted: Whether the change is a tombstone.
    package func mayFire(on document: JSONValue, isDeleted: Bool) -> Bool {
        ruleSet.index.find(for: document, isDeleted: isDeleted, into: &candidates)
        do throws(MatchFault) {
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

    /// One decision for each document: the list of rules, each on the document as the ones before left it, repeated
    /// until a pass changes nothing.
    ///
    /// The decisions go side by side: what they want of jq at the same time is asked in one round trip. Without jq
    /// nothing is waited for. A fault is part of a decision, never thrown: nothing that a document contains stops what
    /// comes after it.
    ///
    /// - Parameters:
    ///   - now: What programs know as `$now`, in seconds since 1970.
    ///   - willDecide: Called with the index of an input before it is looked at, also each time it goes on with jq's
    ///     answers; with nil while jq is waited for, which works in a process of its own.
    package func decide(
        on inputs: [DecisionInput], now: Int, willDecide: (Int?) -> Void = { _ in }
    ) async -> [Decision] {
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
            var outcomes = await jq.run(waiting.flatMap(\.calls))[...]
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
