package import LosslessJSON

/// A dry run's search result for one effect on related documents.
package struct RelatedSearchResult: Sendable {
    /// The maximum number of documents listed for one effect.
    private static let shownLimit = 100

    /// The number of matching documents.
    package private(set) var found = 0
    /// The number of documents that would be changed or deleted.
    package private(set) var changed = 0
    /// The number of documents that would be deleted.
    package private(set) var deletions = 0
    /// The first documents that would be changed.
    package private(set) var documents: [DecisionReport] = []

    /// An empty result.
    package init() {}

    /// Counts matching documents.
    package mutating func noteFound(_ count: Int) { found += count }

    /// Adds a document that would be changed.
    package mutating func noteChange(_ report: DecisionReport) {
        changed += 1
        if report.decision.isDeletion { deletions += 1 }
        if documents.count < Self.shownLimit { documents.append(report) }
    }
}

extension RelatedEffect {
    package static let kind = EffectKind.related

    /// A rule that fires again replaces its earlier effects.
    package func isDropped(for later: Effects) -> Bool { true }

    package func write(to writer: inout JSONWriter) {
        writer.member("action", string: "related")
        writer.member("selector", raw: selector.json)
        writer.member("limit", integer: limit)
        writer.member("then", raw: actions)
    }
}

extension RelatedSearchResult {
    /// Writes the counts `found` and `changed`, and the first `documents` that would be changed.
    func write(to writer: inout JSONWriter) {
        writer.member("found", integer: found)
        writer.member("changed", integer: changed)
        writer.name("documents")
        writer.array { writer in
            for report in documents { report.writeRelated(to: &writer) }
        }
    }
}

extension DecisionReport {
    /// Writes `{id, deleted}`, or `{id, patch, attachments}`.
    fileprivate func writeRelated(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", raw: document.root["_id"]?.bytes ?? Array("null".utf8)[...])
            guard !decision.isDeletion else { return writer.member("deleted", bool: true) }
            writer.member("patch", raw: patch.json)
            guard !attached.isEmpty else { return }
            writer.name("attachments")
            writer.array { writer in for name in attached { writer.string(name.text) } }
        }
    }
}
