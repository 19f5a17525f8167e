internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// Decides what is to be done about candidates.
struct Planner {
    struct Plan {
        var candidate: Candidate
        let report: DecisionReport

        var decision: Decision { report.decision }

        /// Whether there is anything to write, or to complain of.
        var hasNews: Bool { decision.isChanged || !decision.puts.isEmpty || decision.fault != nil }

        /// What goes to the gateway.
        var write: PlannedWrite<Candidate> {
            var planned = candidate
            // What was read is not needed any more: after a refusal the document is read again.
            if !candidate.isDeleted { planned.document = [] }
            return PlannedWrite(
                subject: planned, document: BulkDocument(id: candidate.id, segments: decision.bodySegments()))
        }
    }

    let ruleSet: RuleSet
    let decider: Decider
    let progress: RunProgress
    /// Seconds since 1970.
    let now: @Sendable () -> Int

    /// One plan for each candidate that can be decided about; the others are in `settled`, as dead letters.
    func plan(_ candidates: [Candidate], _ settled: inout Settlement) async -> [Plan] {
        var decidable: [Candidate] = []
        var inputs: [DecisionInput] = []
        for candidate in candidates {
            do throws(Undecidable) {
                inputs.append(try Self.input(candidate))
                decidable.append(candidate)
            } catch {
                settled.setAside(candidate, candidate.deadLetter(reason: error.reason))
            }
        }
        let decisions = await decider.decide(on: inputs, now: now())
        await count(zip(decidable, decisions))
        return zip(decidable, zip(inputs, decisions)).map { candidate, decided in
            var candidate = candidate
            candidate.rule = decided.1.fired.last.map { ruleSet.names[$0] }
            return Plan(
                candidate: candidate,
                report: DecisionReport(decided.0.document, decided.1, names: ruleSet.names))
        }
    }

    private struct Undecidable: Error {
        let reason: String
    }

    private static func input(_ candidate: Candidate) throws(Undecidable) -> DecisionInput {
        let text: JSONText
        do { text = try JSONText(candidate.document).withoutVersion() } catch { throw Undecidable(reason: "\(error)") }
        // A write goes where its `_id` says: another one, or none, would make a document that nobody asked for.
        guard text.root["_id"]?.isString(candidate.id.text.utf8) == true else {
            throw Undecidable(reason: "the document's _id is not that of its change")
        }
        return DecisionInput(text, isDeleted: candidate.isDeleted, sequence: candidate.sequence?.json)
    }

    private func count(_ decided: Zip2Sequence<[Candidate], [Decision]>) async {
        let fired = decided.compactMap { candidate, decision in
            candidate.attempts == 0 && (!decision.fired.isEmpty || decision.fault != nil) ? decision.fired : nil
        }
        guard !fired.isEmpty else { return }
        let names = ruleSet.names
        await progress.count { counters in
            counters.matched += fired.count
            for rule in fired.joined() { counters.rules[names[rule], default: 0] += 1 }
        }
    }
}
