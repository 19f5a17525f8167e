internal import Locking
package import LosslessJSON
internal import Rules

/// What a page asks for after each change of its text: the answer is one JSON object on each line, the fastest first.
struct Evaluation: Sendable {
    let file: PlayFile
    let text: String
    let now: Int
    /// The numbers of the documents in view.
    let visible: [Int]
    /// The number of the document whose effects are shown in full. Nil: none.
    let selected: Int?
    /// Whether all documents are counted too.
    let counts: Bool

    private static let visibleLimit = 200
    /// Longer documents are decided last and one by one, because the rules may take seconds for each.
    static let longDocument = 1 << 20
    /// Long documents wait until the text has not changed for this time, because their decisions can't be interrupted.
    private static let longDocumentDelay: Duration = .milliseconds(300)
    /// Programs that take long must not keep the machine busy for minutes.
    private static let countTime: Duration = .seconds(60)

    /// Sends the lines, and stops when the page has asked for something else.
    func run(
        _ reader: TextReader, _ samples: SampleStore, _ diff: @escaping DocumentDiffing,
        isWanted: @escaping @Sendable () -> Bool, _ send: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        guard let evaluated = await reader.read(text, of: file.path, isWanted: isWanted) else { return }
        try await send(PlayJSON.diagnostics(evaluated))
        guard let rules = evaluated.rules, isWanted() else { return try await send(PlayJSON.end) }
        let trial = Trial(rules: rules, now: now)
        let shown = shown(samples)
        let long = shown.filter(\.sample.isLong)
        if !long.isEmpty { try await send(PlayJSON.deciding(long.map(\.number))) }
        try await sendShort(shown.filter { !$0.sample.isLong }, trial, diff, isWanted, send)
        guard isWanted() else { return }
        let (results, coverage) = await evaluated.files.measureTests(now: now, sharing: rules)
        try await send(PlayJSON.tests(results, coverage))
        let all = counts ? samples.all : []
        var total = TrialTotal(rules, documentCount: all.count)
        try await count(all.filter { !$0.isLong }, trial, &total, isWanted, send)
        let others = all.enumerated().filter { entry in
            entry.element.isLong && !long.contains { $0.number == entry.offset }
        }
        let rest = long + others.map { Shown(number: $0.offset, sample: $0.element) }
        if !rest.isEmpty {
            try await Task.sleep(for: Self.longDocumentDelay)
            try await samples.longDocuments.withLock {
                try await sendLong(rest, isShown: long.count, trial, &total, diff, isWanted, send)
            }
        }
        try await send(PlayJSON.end)
    }

    /// The documents in view and the chosen one, which may be on another page of the list. Long ones are in the order in
    /// which they are decided.
    private func shown(_ samples: SampleStore) -> [Shown] {
        var numbers = Array(visible.prefix(Self.visibleLimit))
        if let selected, !numbers.contains(selected) { numbers.append(selected) }
        let shown = numbers.compactMap { number in samples[number].map { Shown(number: number, sample: $0) } }
        let long = shown.filter(\.sample.isLong).sorted { left, right in
            (left.number == selected ? 0 : left.sample.byteCount)
                < (right.number == selected ? 0 : right.sample.byteCount)
        }
        return shown.filter { !$0.sample.isLong } + long
    }

    private struct Shown {
        let number: Int
        let sample: Sample
    }

    private func sendShort(
        _ shown: [Shown], _ trial: Trial, _ diff: DocumentDiffing, _ isWanted: () -> Bool,
        _ send: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        let decider = trial.rules.makeDecider()
        var gathered = GatheredDocuments<Shown>()
        for (index, entry) in shown.enumerated() {
            let full = gathered.add(entry, byteCount: entry.sample.byteCount)
            guard let batch = full ?? (index == shown.count - 1 ? gathered.takeRest() : nil) else { continue }
            guard isWanted() else { return }
            let decisions = await decider.decide(on: await trial.inputs(batch.map(\.sample)), now: now)
            try await send(PlayJSON.results(zip(batch.map(\.number), decisions), trial.rules.names))
        }
        guard isWanted(), let entry = shown.first(where: { $0.number == selected }),
            let report = await trial.report(of: entry.sample)
        else { return }
        try await send(PlayJSON.detail(entry.number, report, diff, now: now))
        try await sendExplanation(entry, trial, send)
    }

    /// Decides long documents, each once, and explains the chosen one in the end.
    ///
    /// - Parameter shownCount: How many of them, from the first one, are shown. The others are only counted.
    private func sendLong(
        _ long: [Shown], isShown shownCount: Int, _ trial: Trial, _ total: inout TrialTotal, _ diff: DocumentDiffing,
        _ isWanted: () -> Bool, _ send: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        for (index, entry) in long.enumerated() {
            guard isWanted(), index < shownCount || ContinuousClock.now < total.end else { return }
            try Task.checkCancellation()
            let decisions = await total.decider.decide(on: [await trial.input(entry.sample)], now: now)
            guard let decision = decisions.first else { return }
            if index < shownCount {
                try await send(PlayJSON.results([(entry.number, decision)], trial.rules.names))
                if entry.number == selected {
                    try await send(
                        PlayJSON.detail(entry.number, trial.report(entry.sample, decision), diff, now: now))
                }
            }
            if counts { try await send(total.add(decisions, trial)) }
        }
        guard isWanted(), let entry = long.first(where: { $0.number == selected }) else { return }
        try await sendExplanation(entry, trial, send)
    }

    private func sendExplanation(
        _ entry: Shown, _ trial: Trial, _ send: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        let (explanations, summary) = await trial.rules.explain(await trial.input(entry.sample), now: now)
        try await send(PlayJSON.explanations(entry.number, explanations, summary))
    }

    private struct TrialTotal {
        let decider: Decider
        private var counts: TrialCounts
        /// How many documents there are.
        private let documentCount: Int
        let end = ContinuousClock.now + Evaluation.countTime

        init(_ rules: RuleSet, documentCount: Int) {
            (decider, counts) = (rules.makeDecider(), TrialCounts(ruleCount: rules.count))
            self.documentCount = documentCount
        }

        /// The line with the counts so far.
        mutating func add(_ decisions: [Decision], _ trial: Trial) -> [UInt8] {
            counts.add(decisions)
            return PlayJSON.counts(counts, trial.rules.names, total: documentCount)
        }
    }

    private func count(
        _ samples: [Sample], _ trial: Trial, _ total: inout TrialTotal, _ isWanted: () -> Bool,
        _ send: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        var gathered = GatheredDocuments<Sample>()
        for (index, sample) in samples.enumerated() {
            let full = gathered.add(sample, byteCount: sample.byteCount)
            guard let batch = full ?? (index == samples.count - 1 ? gathered.takeRest() : nil) else { continue }
            guard isWanted(), ContinuousClock.now < total.end else { return }
            try Task.checkCancellation()
            try await send(total.add(await total.decider.decide(on: await trial.inputs(batch), now: now), trial))
        }
    }
}

extension Sample {
    /// Whether the rules may take seconds for it.
    fileprivate var isLong: Bool { byteCount > Evaluation.longDocument }
}

/// Lines that show the differences between two documents: `- ` and `+ ` for those that differ. Nil: it is deleted.
package typealias DocumentDiffing = @Sendable (_ before: JSONText, _ after: JSONText?) -> [String]
