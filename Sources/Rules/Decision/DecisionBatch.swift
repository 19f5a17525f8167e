internal import JQ
internal import LosslessJSON

/// Decisions that are made concurrently. What they need at the same time from jq, a server or the gateway is combined
/// into one request.
struct DecisionBatch {
    private let inputs: [DecisionInput]
    private let scratch: MatchScratch
    /// Whether attachments of the gateway that digests can't tell from those of rules are read.
    private let compares: Bool
    private var runs: [DecisionRun]
    private var decisions: [Decision?]
    private var waiting: [(run: Int, calls: [JQCall])] = []
    private var downloads = DownloadQueue()
    private var comparisons = ComparisonQueue()
    /// Runs that got answers from the downloader.
    private var served: Set<Int> = []
    /// How long jq programs were waited for; nil if none ran.
    private(set) var jqTime: Duration?

    init(
        _ inputs: [DecisionInput], _ ruleSet: RuleSet, _ scratch: MatchScratch, now: Int, _ limits: ProgramTime.Limits,
        compares: Bool
    ) {
        self.inputs = inputs
        self.scratch = scratch
        self.compares = compares
        runs = inputs.map { DecisionRun($0, ruleSet, now: now, limits) }
        decisions = [Decision?](repeating: nil, count: inputs.count)
    }

    var waitsForPrograms: Bool { !waiting.isEmpty }
    var waitsForDownloads: Bool { !downloads.isEmpty }
    var waitsForComparisons: Bool { !comparisons.isEmpty }

    /// One for each input. A decision is missing only if the programs never ran because jq is unavailable.
    var finished: [Decision] { zip(decisions, inputs).map { $0 ?? Decision($1.document) } }

    mutating func begin(_ willDecide: (Int?) -> Void) {
        for index in runs.indices { advance(index, with: [], willDecide) }
    }

    private mutating func advance(_ index: Int, with outcomes: [JQOutcome], _ willDecide: (Int?) -> Void) {
        willDecide(index)
        switch runs[index].advance(with: outcomes, scratch) {
        case .needsCalls(let calls): waiting.append((index, calls))
        case .needs(let request): downloads.add(request, for: index, of: inputs[index].id)
        case .decided(let decision):
            // The document is decided again after the comparison.
            if compares, decision.error == nil, comparisons.add(runs[index].uncomparedAttachments, of: index) { return }
            decisions[index] = decision
        }
    }

    /// Runs the programs of the first waiting documents, in one round trip.
    ///
    /// - Parameter count: The maximum number of calls, but at least those of one document.
    /// - Returns: The number of calls, and the size of their outputs.
    mutating func runPrograms(
        _ jq: JQPool, upTo count: Int, _ willDecide: (Int?) -> Void
    ) async -> (calls: Int, bytes: Int) {
        willDecide(nil)
        let answered = takeWaiting(upTo: count)
        let askedAt = ContinuousClock.now
        var outcomes = await jq.timed(answered.flatMap(\.calls))[...]
        jqTime = (jqTime ?? .zero) + askedAt.duration(to: .now)
        let sizes = (outcomes.count, outcomes.reduce(0) { $0 + $1.outcome.byteCount })
        for (index, calls) in answered {
            let own = outcomes.prefix(calls.count)
            outcomes = outcomes.dropFirst(calls.count)
            runs[index].note(own.reduce(.zero) { $0 + $1.time })
            advance(index, with: own.map(\.outcome), willDecide)
        }
        return sizes
    }

    private mutating func takeWaiting(upTo count: Int) -> [(run: Int, calls: [JQCall])] {
        var (calls, end) = (0, 0)
        while end < waiting.count, end == 0 || calls + waiting[end].calls.count <= count {
            calls += waiting[end].calls.count
            end += 1
        }
        let taken = Array(waiting.prefix(end))
        waiting.removeFirst(end)
        return taken
    }

    /// Defers documents until the effects of the others fit: first those that alone exceed the limit, then those that
    /// are not decided yet. At least one document is decided or called large.
    mutating func deferLarge(_ memory: EffectMemory) {
        var bytes = decisions.indices.map { decisions[$0]?.effects.byteCount ?? runs[$0].effectBytes }
        guard bytes.reduce(0, +) > memory.limit else { return }
        for index in bytes.indices where bytes[index] > memory.limit && !memory.mayExceed(index) {
            drop(index, .large)
            bytes[index] = 0
        }
        var total = bytes.reduce(0, +)
        for (index, _) in waiting.reversed() where total > memory.limit && inputs.count > 1 && decisions[index] == nil {
            drop(index, .crowded)
            total -= bytes[index]
        }
        let decided = decisions
        waiting.removeAll { decided[$0.run] != nil }
    }

    /// Frees what was computed for a document.
    private mutating func drop(_ index: Int, _ reason: Decision.Deferral) {
        decisions[index] = .deferred(inputs[index].document, reason)
        runs[index].startOver()
    }

    /// Defers slow documents, so that the others need not wait for them.
    mutating func deferSlow(where mayDefer: (Int) -> Bool) {
        guard inputs.count > 1 else { return }
        for (index, _) in waiting where runs[index].isSlow && mayDefer(index) {
            decisions[index] = .deferred(inputs[index].document, .slow)
        }
        let decided = decisions
        waiting.removeAll { decided[$0.run] != nil }
    }

    /// Fetches the first of the downloads that are waited for.
    mutating func download(_ downloader: Downloader?, _ willDecide: (Int?) -> Void) async {
        willDecide(nil)
        for (index, request, answer) in await downloads.answers(downloader) {
            runs[index].provide(answer, to: request)
            served.insert(index)
            advance(index, with: [], willDecide)
        }
        await release(downloader)
    }

    /// Reads the attachments of the gateway that are waited for.
    mutating func compare(_ stored: StoredAttachmentReader, _ willDecide: (Int?) -> Void) async {
        willDecide(nil)
        for (index, isDecidable) in await comparisons.compare(stored) {
            guard isDecidable else {
                decisions[index] = .undecided(inputs[index].document, "an attachment was not read")
                continue
            }
            runs[index].startOver()
            advance(index, with: [], willDecide)
        }
    }

    /// Tells the downloader which of its documents are decided.
    mutating func release(_ downloader: Downloader?) async {
        guard let downloader else { return }
        for index in served {
            guard let decision = decisions[index] else { continue }
            served.remove(index)
            if decision.error?.wait == nil, decision.deferral == nil { await downloader.release(inputs[index].id) }
        }
    }
}
