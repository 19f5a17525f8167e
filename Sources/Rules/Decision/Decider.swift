internal import Encodings
internal import JQ
package import LosslessJSON

/// Decides documents. One per task: an instance reuses its buffers.
package final class Decider {
    let ruleSet: RuleSet
    let scratch = MatchScratch()
    var candidates: RuleBits
    /// The rules without `resolve`. Nil: all rules.
    private let nonResolvingRules: RuleBits?
    /// For each rule, whether its selectors name `_exp`. Nil: none does.
    let testsExpiry: [Bool]?
    /// The time limits for one document.
    var limits = ProgramTime.Limits()
    /// The sizes of earlier outputs.
    private var outputs = OutputSizes()
    /// How long the last ``decide(on:now:willDecide:)`` waited for jq programs. Nil if none ran.
    package private(set) var jqTime: Duration?

    init(_ ruleSet: RuleSet) {
        self.ruleSet = ruleSet
        candidates = ruleSet.index.makeBits()
        nonResolvingRules = ruleSet.resolvesConflicts ? RuleBits(ruleSet.rules.map { $0.phase != .resolving }) : nil
        testsExpiry = ruleSet.testsExpiry.contains(true) ? ruleSet.testsExpiry : nil
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
        guard ruleSet.index.findAll(for: document, isDeleted: isDeleted, into: &candidates) else { return false }
        if !mayBeInConflict, let nonResolvingRules, !candidates.formIntersection(nonResolvingRules) { return false }
        do throws(MatchError) {
            var at = 0
            while let rule = candidates.next(from: at) {
                // The feed and lists never contain the expiry: it is read before the decision.
                if let testsExpiry, testsExpiry[rule], !isDeleted, document[DocumentExpiry.member] == nil,
                    ruleSet.index.sees(document, rule)
                {
                    return true
                }
                let isSeen =
                    try isDeleted
                    ? ruleSet.rules[rule].fires(on: document, scratch)
                    : ruleSet.rules[rule].looks(at: document, scratch)
                if isSeen, ruleSet.index.sees(document, rule) {
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
    ///     wait for it. Its decision then has a ``Decision/deferral``. Default: never.
    ///   - effects: The memory for the effects of all documents. If they take more, some of the documents are deferred.
    ///     Default: no limit.
    ///   - willDecide: Called with the index of a document before it is processed, also each time that it continues
    ///     with answers. Called with nil while waiting for jq, which runs in a separate process, or for an attachment.
    package func decide(
        on inputs: [DecisionInput], now: Int, downloader: Downloader? = nil, stored: StoredAttachmentReader? = nil,
        mayDefer: (Int) -> Bool = { _ in false }, effects: EffectMemory = .unlimited,
        willDecide: (Int?) -> Void = { _ in }
    ) async -> [Decision] {
        var batch = DecisionBatch(inputs, ruleSet, scratch, now: now, limits, compares: stored != nil)
        defer { jqTime = batch.jqTime }
        batch.begin(willDecide)
        while true {
            if batch.waitsForPrograms, let jq = ruleSet.jq {
                let asked = outputs.callCount(within: effects.limit)
                outputs.note(await batch.runPrograms(jq, upTo: asked, willDecide), of: asked)
                batch.deferSlow(where: mayDefer)
                batch.deferLarge(effects)
            } else if batch.waitsForDownloads {
                await batch.download(downloader, willDecide)
            } else if batch.waitsForComparisons, let stored {
                await batch.compare(stored, willDecide)
            } else {
                break
            }
        }
        await batch.release(downloader)
        return batch.finished
    }
}
