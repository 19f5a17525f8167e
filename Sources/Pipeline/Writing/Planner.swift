internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// Applies the rules to candidates.
struct Planner {
    struct Plan {
        var candidate: Candidate
        let report: DecisionReport
        /// The rules that led to the document; nil if its decision wants no other documents.
        var chain: RuleChain?
        /// Why it must not be carried out.
        var refusal: DeadLetter?

        var decision: Decision { report.decision }

        /// Whether there is anything to write or to report.
        var needsAction: Bool { isEffective || decision.error != nil }

        /// Whether there may be anything to write.
        var isEffective: Bool { decision.isChanged || !decision.puts.isEmpty }

        /// The write of the changed document itself.
        ///
        /// - Parameter keepsContent: Whether ``Write/before`` is wanted.
        func write(keepsContent: Bool) -> Write {
            let before = keepsContent ? try? JSONText(candidate.document).withoutVersion() : nil
            var planned = candidate
            planned.isDeletion = decision.isDeletion
            // The content is not needed any more: after a refusal the document is read again.
            if !candidate.isDeleted { planned.document = [] }
            return Write(
                candidate: planned, document: BulkDocument(id: candidate.id, segments: decision.bodySegments()),
                before: before)
        }
    }

    /// What goes to the gateway.
    struct Write {
        /// The candidate that this write settles.
        let candidate: Candidate
        let document: BulkDocument
        /// The document as the rules found it; nil unless it is wanted for those who watch the run.
        let before: JSONText?
    }

    let ruleSet: RuleSet
    let decider: Decider
    let interruptions: InterruptedDecisions
    /// Records which document is being decided, in case the process dies over it.
    let note: DecisionNote
    /// Whether to count how often a content leads to a write.
    let countsEffects: Bool
    /// Seconds since 1970.
    let now: @Sendable () -> Int

    /// One plan for each candidate that can be decided; the others are dead-lettered in `settled`.
    func plan(_ candidates: [Candidate], _ settled: inout Settlement) async -> [Plan] {
        var decidable: [Candidate] = []
        var inputs: [DecisionInput] = []
        for candidate in candidates {
            do throws(Undecidable) {
                inputs.append(try input(candidate))
                decidable.append(candidate)
            } catch {
                settled.deadLetter(candidate, candidate.deadLetter(reason: error.reason))
            }
        }
        note.end()
        let decisions = await decider.decide(on: inputs, now: now()) { index in
            guard let index else { return note.end() }
            note.begin(decidable[index].id, decidable[index].revision)
        }
        note.end()
        return decidable.indices.map { plan(decidable[$0], inputs[$0], decisions[$0]) }
    }

    private func plan(_ candidate: Candidate, _ input: DecisionInput, _ decision: Decision) -> Plan {
        var plan = Plan(
            candidate: candidate, report: DecisionReport(input.document, decision, names: ruleSet.names))
        plan.candidate.rules = decision.fired.map { ruleSet.names[$0] }
        plan.candidate.skippedRules = decision.skipped.map {
            Candidate.SkippedRule(rule: $0.rule, reason: $0.reason)
        }
        if countsEffects, plan.isEffective { plan.candidate.content = ContentFingerprint(input.document.root) }
        return plan
    }

    private struct Undecidable: Error {
        let reason: String
    }

    private func input(_ candidate: Candidate) throws(Undecidable) -> DecisionInput {
        guard !interruptions.isExcluded(candidate.id, candidate.revision) || candidate.isRetried else {
            throw Undecidable(reason: InterruptedDecisions.reason)
        }
        note.begin(candidate.id, candidate.revision)
        let text: JSONText
        do { text = try JSONText(candidate.document).withoutVersion() } catch { throw Undecidable(reason: "\(error)") }
        // The write goes to the document's `_id`: a different one, or none, would create a document that nobody asked
        // for.
        guard text.root["_id"]?.isString(candidate.id.text) == true else {
            throw Undecidable(reason: "the document's _id is not that of its change")
        }
        return DecisionInput(text, isDeleted: candidate.isDeleted, sequence: candidate.sequence?.json)
    }
}
