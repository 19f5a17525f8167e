internal import JQ
package import LosslessJSON

// What a receiver of a webhook answers, merged into the document that the rules decided about.
extension RuleSet {
    /// The decision with a webhook's answer merged into its document, by the `merge` of the rule's `response` and with
    /// the same checks as the action `merge`. If that fails, the decision is an error.
    ///
    /// - Parameters:
    ///   - answer: `$response` of the programs: an object.
    ///   - origin: The step that the effect comes from.
    ///   - input: The document that was decided.
    ///   - now: The programs' `$now`, in seconds since 1970.
    package func merge(
        _ answer: JSONText, of effect: WebhookEffect, _ origin: EffectOrigin, into decision: Decision,
        of input: DecisionInput, now: Int
    ) async -> Decision {
        // A tombstone has no members to write to.
        guard let merge = effect.response?.merge, !decision.isDeletion, !input.isDeleted else { return decision }
        var decision = decision
        do throws(DecisionError) {
            let outputs = try await outputs(of: merge, answer, effect, origin, decision, input, now: now)
            try self.merge(outputs, merge, origin, into: &decision, of: input)
        } catch {
            decision.status = .failed(error)
        }
        return decision
    }

    private func outputs(
        of merge: MergeAction, _ answer: JSONText, _ effect: WebhookEffect, _ origin: EffectOrigin,
        _ decision: Decision, _ input: DecisionInput, now: Int
    ) async throws(DecisionError) -> [[JSONText]] {
        let rule = rules[origin.rule]
        let locals = (effect.element?.locals ?? []) + [(WebhookResponse.variable, answer.bytes)]
        let calls = calls(
            merge.patch.programs, of: rule, document: decision.document, matched: input.document, input, now: now,
            edge: decision.firedEdges[origin.rule], locals: locals, MatchScratch())
        var outputs: [[JSONText]] = []
        for outcome in calls.isEmpty ? [] : await jq?.run(calls) ?? [] {
            switch outcome {
            case .outputs(let texts): outputs.append(texts)
            case .failed(let error):
                throw DecisionError(
                    rule: rule.name, reason: "webhook: response: \(error)", isTemporary: error.isTemporary)
            }
        }
        return outputs
    }

    private func merge(
        _ outputs: [[JSONText]], _ merge: MergeAction, _ origin: EffectOrigin, into decision: inout Decision,
        of input: DecisionInput
    ) throws(DecisionError) {
        let name = rules[origin.rule].name
        var draft = Draft(document: decision.document, now: 0)
        do throws(ActionError) { try merge.apply(to: &draft, outputs) } catch {
            let reason = if case .failed(let reason) = error { reason } else { "the answer can't be merged" }
            throw DecisionError(rule: name, reason: "webhook: response: \(reason)")
        }
        guard draft.document.bytes != decision.document.bytes else { return }
        if let duplicate = input.document.root.duplicateMemberName {
            throw DecisionError(rule: name, reason: Decision.duplicateReason(duplicate))
        }
        if draft.document.bytes.count > max(RuleAttempt.lengthLimit, decision.document.bytes.count) {
            throw DecisionError(rule: name, reason: RuleAttempt.lengthReason("webhook: response"))
        }
        decision.document = draft.document
        decision.result = .changed(last: origin.rule)
        if !decision.answered.contains(origin.rule) { decision.answered.append(origin.rule) }
    }
}
