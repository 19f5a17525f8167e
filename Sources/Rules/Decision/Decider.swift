internal import Encodings
internal import JQ
package import LosslessJSON

/// Decides documents. One per task: an instance reuses its buffers.
package final class Decider {
    private let ruleSet: RuleSet
    private let scratch = MatchScratch()
    private var candidates: RuleBits
    /// The time limits for one document.
    var limits = ProgramTime.Limits()
    /// How long the last ``decide(on:now:willDecide:)`` waited for jq programs. Nil if none ran.
    package private(set) var jqTime: Duration?

    init(_ ruleSet: RuleSet) {
        self.ruleSet = ruleSet
        candidates = ruleSet.index.makeBits()
    }

    /// Whether any rule may fire on a document as it arrived. If false, the decision would change nothing. If true, the
    /// decision may still change nothing, or fail.
    ///
    /// Runs no jq program. Allocates nothing, unless a compared string has escapes.
    ///
    /// - Parameters:
    ///   - document: May be part of a larger text.
    ///   - isDeleted: Whether the change is a tombstone.
    ///   - mayBeInConflict: Whether the document may have other leaf revisions. Default: false.
    package func mayFire(on document: JSONValue, isDeleted: Bool, mayBeInConflict: Bool = false) -> Bool {
        ruleSet.index.find(for: document, isDeleted: isDeleted, into: &candidates)
        do throws(MatchError) {
            var at = 0
            while let rule = candidates.next(from: at) {
                let isForAll = mayBeInConflict || ruleSet.rules[rule].phase != .resolving
                if isForAll, ruleSet.testsExpiry[rule] && !isDeleted && document[DocumentExpiry.member] == nil {
                    // The feed and lists never contain the expiry: it is read before the decision.
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

    /// Makes one decision for each document. The rules run in order, each on the document as the previous ones left it,
    /// and repeat until a pass changes nothing.
    ///
    /// Decisions run concurrently: programs that they need at the same time share one round trip to jq. Without jq,
    /// nothing waits. An error is part of its decision and never thrown, so one document can't stop the others.
    ///
    /// - Parameters:
    ///   - now: The programs' `$now`, in seconds since 1970.
    ///   - downloader: Fetches what rules attach from URLs. Nil: such attachments are empty.
    ///   - stored: Reads gateway attachments whose digests are inconclusive. Nil: they count as different.
    ///   - mayDefer: Whether a document with slow programs, by its index, may be deferred so that the others need not
    ///     wait for it. Its decision then has ``Decision/isDeferred``. Default: never.
    ///   - willDecide: Called with the index of a document before it is processed, also each time that it continues
    ///     with answers. Called with nil while waiting for jq, which runs in a separate process, or for an attachment.
    package func decide(
        on inputs: [DecisionInput], now: Int, downloader: Downloader? = nil, stored: StoredAttachmentReader? = nil,
        mayDefer: (Int) -> Bool = { _ in false }, willDecide: (Int?) -> Void = { _ in }
    ) async -> [Decision] {
        jqTime = nil
        var runs = inputs.map { DecisionRun($0, ruleSet, now: now, limits) }
        var decisions = [Decision?](repeating: nil, count: inputs.count)
        var waiting: [(run: Int, calls: [JQCall])] = []
        var downloads = DownloadQueue()
        var comparisons = ComparisonQueue()
        /// Runs that got answers from the downloader.
        var served: Set<Int> = []
        func advance(_ index: Int, with outcomes: [JQOutcome]) {
            willDecide(index)
            switch runs[index].advance(with: outcomes, scratch) {
            case .asks(let calls): waiting.append((index, calls))
            case .needs(let request): downloads.add(request, for: index, of: inputs[index].id)
            case .decided(let decision):
                // The document is decided again after the comparison.
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
                    guard inputs.count > 1, runs[index].isSlow, mayDefer(index) else { return false }
                    decisions[index] = .deferred(inputs[index].document)
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
        // A decision is missing only if the programs never ran because jq is unavailable.
        return zip(decisions, inputs).map { $0 ?? Decision($1.document) }
    }

    /// Tells the downloader which of its documents are decided.
    private func release(
        _ served: inout Set<Int>, _ decisions: [Decision?], _ inputs: [DecisionInput], _ downloader: Downloader?
    ) async {
        guard let downloader else { return }
        for index in served {
            guard let decision = decisions[index] else { continue }
            served.remove(index)
            if decision.error?.wait == nil, !decision.isDeferred { await downloader.release(inputs[index].id) }
        }
    }
}
