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
        try await sendVisible(trial, samples, send)
        if let selected, let sample = samples[selected], isWanted() {
            try await sendDetail(trial, selected, sample, diff, send)
        }
        guard isWanted() else { return }
        let (results, coverage) = await evaluated.files.measureTests(now: now, sharing: rules)
        try await send(PlayJSON.tests(results, coverage))
        if counts { try await sendCounts(trial, samples.all, isWanted, send) }
        try await send(PlayJSON.end)
    }

    private func sendVisible(
        _ trial: Trial, _ samples: SampleStore, _ send: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        let shown = visible.prefix(Self.visibleLimit).compactMap { number in samples[number].map { (number, $0) } }
        guard !shown.isEmpty else { return }
        let inputs = await trial.inputs(shown.map(\.1))
        let decisions = await trial.rules.makeDecider().decide(on: inputs, now: now)
        try await send(PlayJSON.results(zip(shown.map(\.0), decisions), trial.rules.names))
    }

    private func sendDetail(
        _ trial: Trial, _ number: Int, _ sample: Sample, _ diff: DocumentDiffing,
        _ send: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        guard let report = await trial.report(of: sample) else { return }
        try await send(PlayJSON.detail(number, report, diff, now: now))
        let (explanations, summary) = await trial.rules.explain(await trial.input(sample), now: now)
        try await send(PlayJSON.explanations(number, explanations, summary))
    }

    private func sendCounts(
        _ trial: Trial, _ samples: [Sample], _ isWanted: () -> Bool, _ send: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        let decider = trial.rules.makeDecider()
        var counts = TrialCounts(ruleCount: trial.rules.count)
        var gathered = GatheredDocuments<Sample>()
        let end = ContinuousClock.now + Self.countTime
        for (index, sample) in samples.enumerated() {
            let full = gathered.add(sample, byteCount: sample.document.bytes.count)
            guard let batch = full ?? (index == samples.count - 1 ? gathered.takeRest() : nil) else { continue }
            guard isWanted(), ContinuousClock.now < end else { return }
            try Task.checkCancellation()
            counts.add(await decider.decide(on: await trial.inputs(batch), now: now))
            try await send(PlayJSON.counts(counts, trial.rules.names, total: samples.count))
        }
    }
}

/// Lines that show the differences between two documents: `- ` and `+ ` for those that differ. Nil: it is deleted.
package typealias DocumentDiffing = @Sendable (_ before: JSONText, _ after: JSONText?) -> [String]
