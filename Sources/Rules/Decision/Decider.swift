internal import Encodings
internal import JQ
package import LosslessJSON

/// Decides about documents. One per task: it reuses buffers of its own.
package final class Decider {
    private let ruleSet: RuleSet
    private let scratch = MatchScratch()
    private var candidates: RuleBits
    /// What is too long for one document.
    var limits = ProgramTime.Limits()
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
    ///   - mayBeInConflict: Whether it may have other leaf revisions. Default: false.
    package func mayFire(on document: JSONValue, isDeleted: Bool, mayBeInConflict: Bool = false) -> Bool {
        ruleSet.index.find(for: document, isDeleted: isDeleted, into: &candidates)
        do throws(MatchError) {
            var at = 0
            while let rule = candidates.next(from: at) {
                let isForAll = mayBeInConflict || ruleSet.rules[rule].turn != .resolving
                if isForAll, ruleSet.looksAtExpiry[rule] && !isDeleted && document[DocumentExpiry.member] == nil {
                    // The feed and lists never show it: it is read before the decision.
                    return true
                }
                if isForAll, try ruleSet.rules[rule].fires(on: document, scratch) {
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
    ///   - downloader: Fetches what rules attach from URLs. Nil: such attachments are empty.
    ///   - stored: Reads attachments of the gateway that digests can't tell from those of rules. Nil: they differ.
    ///   - mayPutOff: Whether a document whose programs are slow may be put off, by its index, so that the others need
    ///     not wait for it. Its decision is ``Decision/isPutOff`` then. Default: none.
    ///   - willDecide: Called with the index of a document before it is processed, also each time that it continues
    ///     with answers; called with nil while jq, which runs in a process of its own, or an attachment is waited for.
    package func decide(
        on inputs: [DecisionInput], now: Int, downloader: Downloader? = nil, stored: StoredAttachmentReader? = nil,
        mayPutOff: (Int) -> Bool = { _ in false }, willDecide: (Int?) -> Void = { _ in }
    ) async -> [Decision] {
        jqTime = nil
        var runs = inputs.map { DecisionRun($0, ruleSet, now: now, limits) }
        var decisions = [Decision?](repeating: nil, count: inputs.count)
        var waiting: [(run: Int, calls: [JQCall])] = []
        var downloads = DownloadQueue()
        var comparisons = ComparisonQueue()
        /// Those that got answers of the downloader.
        var served: Set<Int> = []
        func advance(_ index: Int, with outcomes: [JQOutcome]) {
            willDecide(index)
            switch runs[index].advance(with: outcomes, scratch) {
            case .asks(let calls): waiting.append((index, calls))
            case .needs(let request): downloads.add(request, for: index, of: inputs[index].id)
            case .decided(let decision):
                // Once they are compared, it is decided again.
                if stored != nil, comparisons.add(decision, of: index) { break }
                decisions[index] = decision
            }
        }
        for index in runs.indices { advance(index, with: []) }
        while true {
            if !waiting.isEmpty, let jq = ruleSet.jq {
                willDecide(nil)
                let askedAt = ContinuousClock.now
                var outcomes = await jq.timed(waiting.flatMap(\.calls))[...]
                jqTime = (jqTime ?? .zero) + askedAt.duration(to: .now)
                let answered = waiting
                waiting = []
                for (index, calls) in answered {
                    let own = outcomes.prefix(calls.count)
                    outcomes = outcomes.dropFirst(calls.count)
                    runs[index].note(own.reduce(.zero) { $0 + $1.time })
                    advance(index, with: own.map(\.outcome))
                }
                waiting.removeAll { index, _ in
                    guard inputs.count > 1, runs[index].isSlow, mayPutOff(index) else { return false }
                    decisions[index] = .putOff(inputs[index].document)
                    return true
                }
            } else if !downloads.isEmpty {
                willDecide(nil)
                for (index, request, answer) in await downloads.answers(downloader) {
                    runs[index].provide(answer, to: request)
                    served.insert(index)
                    advance(index, with: [])
                }
                await release(&served, decisions, inputs, downloader)
            } else if let stored, !comparisons.isEmpty {
                willDecide(nil)
                for (index, isDecidable) in await comparisons.compare(stored) {
                    guard isDecidable else {
                        decisions[index] = .undecided(inputs[index].document, "an attachment was not read")
                        continue
                    }
                    runs[index].startOver()
                    advance(index, with: [])
                }
            } else {
                break
            }
        }
        await release(&served, decisions, inputs, downloader)
        // Without a decision only if its programs were never run: there is no jq.
        return zip(decisions, inputs).map { $0 ?? Decision($1.document) }
    }

    /// Tells the downloader which of those that it served are decided.
    private func release(
        _ served: inout Set<Int>, _ decisions: [Decision?], _ inputs: [DecisionInput], _ downloader: Downloader?
    ) async {
        guard let downloader else { return }
        for index in served {
            guard let decision = decisions[index] else { continue }
            served.remove(index)
            if decision.error?.wait == nil, !decision.isPutOff { await downloader.release(inputs[index].id) }
        }
    }
}
