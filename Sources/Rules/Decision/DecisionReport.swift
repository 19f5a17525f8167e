internal import Encodings
package import LosslessJSON

/// A decision for people and scripts, with the document before and after it.
///
/// A class, because plans with reports are passed around often.
package final class DecisionReport: Sendable {
    /// The document as it arrived.
    package let document: JSONText
    /// The decision of the rules.
    package let decision: Decision
    private let totals: [Int: [String]]
    /// The names of the rules that fired.
    package var fired: [String] { decision.fired.map { names[$0] } }
    /// The name of the rule that determined the document to write last: by its action or by the answer of its webhook.
    /// Nil if none did.
    package var lastChange: String? {
        switch decision.result {
        case .unchanged: nil
        case .changed(let last), .deleted(let last): last.map { names[$0] }
        }
    }
    private let names: [String]
    /// For each effect on related documents, the result of a dry run's search. Empty if nothing was searched.
    private let findings: [RelatedSearchResult]
    /// The value of `action` for a skipped rule.
    static let skip = "skip"

    /// - Parameters:
    ///   - document: As it arrived.
    ///   - names: ``RuleSet/names``.
    ///   - aggregates: ``RuleSet/aggregates``.
    package convenience init(
        _ document: JSONText, _ decision: Decision, names: [String], aggregates: [AggregateRule] = []
    ) {
        let totals = Dictionary(aggregates.map { ($0.index, $0.members) }) { first, _ in first }
        self.init(document, decision, names: names, totals: totals, findings: [])
    }

    private init(
        _ document: JSONText, _ decision: Decision, names: [String], totals: [Int: [String]],
        findings: [RelatedSearchResult]
    ) {
        self.document = document
        self.decision = decision
        self.names = names
        self.totals = totals
        self.findings = findings
    }

    /// The report with the search results for its effects on related documents.
    package func with(_ findings: [RelatedSearchResult]) -> DecisionReport {
        DecisionReport(document, decision, names: names, totals: totals, findings: findings)
    }

    /// The effects on related documents, each with its search result, if there is one.
    package var related: [(effect: RelatedEffect, finding: RelatedSearchResult?)] {
        decision.related.enumerated().map { ($1, findings.indices.contains($0) ? findings[$0] : nil) }
    }

    /// What the document adds to totals.
    package var contributions: [ReportedContribution] {
        decision.contributions.map { contribution in
            ReportedContribution(
                rule: names[contribution.rule], target: contribution.target,
                values: zip(totals[contribution.rule] ?? [], contribution.amounts).map { ($0, $1.description) })
        }
    }

    /// The changes from the document as it arrived to the document to write, without attachments. Empty if the document
    /// is deleted, unchanged or dead-lettered.
    package var patch: JSONPatch {
        guard decision.isChanged, !decision.isDeletion else { return JSONPatch(operations: []) }
        return JSONPatch.difference(
            from: document.root, to: decision.document.root, leavingOut: ["_attachments"])
    }

    /// Blobs that the rules leave with only one of their two parts.
    package var damagedBlobs: [DocumentBlobs.Problem] {
        guard decision.isChanged, !decision.isDeletion, decision.error == nil else { return [] }
        return DocumentBlobs(document.root).damage(in: decision.document.root).filter { problem in
            // A preview does not download attachments.
            decision.attachments[ExactString(BlobPlace(problem.pointer).attachmentName)] == nil
        }
    }

    /// The names of attachments with new content, sorted.
    package var attached: [ExactString] { decision.attachments.keys.sorted() }

    /// The names of removed attachments, in the document's order.
    package var detached: [String] {
        guard !decision.isDeletion, let before = document.root["_attachments"] else { return [] }
        let after = decision.document.root["_attachments"]
        return before.members.compactMap { member in
            member.name.string.flatMap { after?[$0] == nil ? $0 : nil }
        }
    }

    /// Writes a list with an object `{rule, action, …}` for each other document, selector of related documents, outside
    /// effect, rule waiting for its time (`at`), downloaded or removed attachment, and skipped rule.
    /// For a mapping, lists all documents that it produces.
    ///
    /// - Parameter withRules: Whether each object names its rule.
    package func writeEffects(to writer: inout JSONWriter, withSkips: Bool = true, withRules: Bool = true) {
        if decision.isMapping { return writeMapped(to: &writer) }
        writer.array { writer in
            var findings = findings.makeIterator()
            for effect in decision.effects.all {
                writer.object { writer in
                    if withRules { writer.member("rule", string: names[effect.origin.rule]) }
                    effect.write(to: &writer)
                    if effect is RelatedEffect { findings.next()?.write(to: &writer) }
                }
            }
            writeDownloads(to: &writer)
            for time in decision.times where !time.hasFired {
                writer.object { writer in
                    if withRules { writer.member("rule", string: time.rule) }
                    writer.member("action", string: "timer")
                    writer.member("at", string: Timestamp.text(time.due))
                }
            }
            for total in contributions { total.write(to: &writer, withRule: withRules) }
            for name in detached {
                writer.object { writer in
                    writer.member("action", string: "detach")
                    writer.member("name", string: name)
                }
            }
            for skip in withSkips ? decision.skipped : [] {
                writer.object { writer in
                    writer.member("rule", string: skip.rule)
                    writer.member("action", string: Self.skip)
                    writer.member("reason", string: skip.reason)
                }
            }
        }
    }

    private func writeDownloads(to writer: inout JSONWriter) {
        for name in attached {
            guard let url = decision.attachments[name]?.url else { continue }
            writer.object { writer in
                writer.member("action", string: "attach")
                writer.member("name", string: name.text)
                writer.member("url", string: url)
            }
        }
    }

    private func writeMapped(to writer: inout JSONWriter) {
        writer.array { writer in
            for (index, output) in decision.mapped.enumerated() {
                writer.object { writer in
                    let put = index < decision.puts.count ? decision.puts[index] : nil
                    if let put { writer.member("rule", string: names[put.rule]) }
                    writer.member("action", string: put == nil ? "document" : "put")
                    writer.member("id", string: output.id)
                    writer.member("document", raw: output.document.bytes)
                }
            }
        }
    }

    /// One JSON object on one line: `id`, `revision` if requested, `fired`, `patch`, `attachments`, `deleted`,
    /// `effects`, `error`.
    package func line(withRevision: Bool = false) -> [UInt8] {
        let null = Array("null".utf8)[...]
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("id", raw: document.root["_id"]?.bytes ?? null)
            if withRevision { writer.member("revision", raw: document.root["_rev"]?.bytes ?? null) }
            writer.name("fired")
            writer.array { writer in for name in fired { writer.string(name) } }
            writer.member("patch", raw: patch.json)
            writer.name("attachments")
            writer.array { writer in for name in attached { writer.string(name.text) } }
            writer.member("deleted", bool: decision.isDeletion)
            writer.name("effects")
            writeEffects(to: &writer)
            writer.name("error")
            if let error = decision.error { writer.string(error.description) } else { writer.null() }
        }
        return writer.bytes
    }
}

/// What one document adds to totals, with names.
package struct ReportedContribution: Sendable {
    /// The name of the rule.
    package let rule: String
    /// The id of the document that holds the totals.
    package let target: String
    /// The members of the totals document, each with the amount that is added, as JSON.
    package let values: [(name: String, amount: String)]

    fileprivate func write(to writer: inout JSONWriter, withRule: Bool) {
        writer.object { writer in
            if withRule { writer.member("rule", string: rule) }
            writer.member("action", string: "aggregate")
            writer.member("into", string: target)
            writer.name("values")
            writer.object { writer in
                for (name, amount) in values { writer.member(name, raw: amount.utf8) }
            }
        }
    }
}
