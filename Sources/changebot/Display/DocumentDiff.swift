internal import LosslessJSON
internal import Rules

/// What a dry run would change in one document, as text for people.
struct DocumentDiff {
    struct NewAttachment {
        let name: String
        let contentType: String
        let byteCount: Int
        /// The SHA-256, in hexadecimal digits.
        let sha256: String
        /// Where its content would come from, if that was not downloaded.
        var url: String?
    }

    /// Another document that a rule would write.
    struct OtherDocument {
        let id: String
        /// Nil: the keyspace of the changed document.
        var keyspace: String?
        /// The wanted content; for `merge` only the members to change.
        var document: JSONText?
    }

    /// What the document would add to the totals of a rule with `aggregate`.
    struct Total {
        /// The id of the document that holds the totals.
        let target: String
        let values: [(name: String, amount: String)]
    }

    /// An effect that a rule would have outside the database.
    struct OutsideEffect {
        /// Such as `emit to orders.ndjson`.
        let title: String
        var content: JSONText?
    }

    enum Outcome {
        /// The new content. `_attachments` are compared separately.
        case written(JSONText)
        case deleted
        /// The document would become a dead letter, for this reason.
        case deadLettered(reason: String)
    }

    let id: String
    let revision: String?
    /// The names of the rules that fired.
    let rules: [String]
    let before: JSONText
    let outcome: Outcome
    var attached: [NewAttachment] = []
    /// The names of attachments that would be removed.
    var detached: [String] = []
    var otherDocuments: [OtherDocument] = []
    var totals: [Total] = []
    var outside: [OutsideEffect] = []
    var related: [RelatedDocuments] = []

    /// Other documents that a selector matches.
    struct RelatedDocuments {
        /// As JSON.
        let selector: String
        let found: Int
        let changed: Int
        /// The changed documents that are shown. `after` is nil for documents that would be deleted.
        let documents: [(id: String, before: JSONText, after: JSONText?)]
    }

    /// A line that names the document, then its own changes, then other documents and effects.
    func lines(_ style: TerminalStyle) -> [VisibleLine] {
        [heading(style)] + body(style)
            + detached.map { style.red("- attachment \($0)") }
            + attached.map { style.green("+ attachment \(Self.description(of: $0))") }
            + otherDocuments.flatMap { Self.lines(of: $0).map(style.green) }
            + related.flatMap { Self.lines(of: $0, style) }
            + totals.map { style.green(Self.line(of: $0)) }
            + outside.flatMap { Self.lines($0.title, $0.content).map(style.green) }
    }

    private static func lines(of related: RelatedDocuments, _ style: TerminalStyle) -> [VisibleLine] {
        let heading =
            "related \(related.selector): \(Quantity.count(related.found, "document")), "
            + "\(Quantity.count(related.changed)) would change"
        let documents = related.documents.flatMap { document -> [VisibleLine] in
            guard let after = document.after else { return [style.red("- \(document.id) (deleted)")] }
            return [style.bold(document.id)]
                + LineDiff(indentedLines(document.before), indentedLines(after)).lines(style)
        }
        let more = related.changed - related.documents.count
        return [style.yellow(heading)] + documents + (more > 0 ? [style.dim("… \(Quantity.count(more)) more")] : [])
    }

    /// The lines of both documents, without attachments: `- ` and `+ ` for those that differ. Openings of the objects and
    /// lists around a difference are shown too.
    static func lines(before: JSONText, after: JSONText?) -> [String] {
        guard let after else { return indentedLines(before).map { "- " + $0 } }
        let diff = LineDiff(indentedLines(before), indentedLines(after))
        return diff.lines.map { line in
            switch line {
            case .same(let text): "  " + text.visible
            case .old(let text): "- " + text.visible
            case .new(let text): "+ " + text.visible
            case .omitted: "  …"
            }
        }
    }

    private func heading(_ style: TerminalStyle) -> VisibleLine {
        let revision: VisibleLine = revision.map { "  " + style.dim($0) } ?? ""
        return style.bold(id) + revision + "  " + style.yellow(rules.joined(separator: ", "))
    }

    private func body(_ style: TerminalStyle) -> [VisibleLine] {
        switch outcome {
        case .deleted: [style.red("- (deleted)")] + Self.indentedLines(before).map { style.red("- " + $0) }
        case .deadLettered(let reason): [style.yellow("! dead-lettered: \(reason)")]
        case .written(let after):
            LineDiff(Self.indentedLines(before), Self.indentedLines(after)).lines(style)
        }
    }

    private static func indentedLines(_ document: JSONText) -> [String] {
        let bare = try? document.removing(JSONPointer(tokens: ["_attachments"]))
        // Drops the comma after a member: it would show up as a difference if only the next member is new.
        return (bare ?? document).root.indentedLines(indent: 2).map { $0.hasSuffix(",") ? String($0.dropLast()) : $0 }
    }

    private static func description(of attachment: NewAttachment) -> String {
        if let url = attachment.url { return "\(attachment.name)  \(attachment.contentType), not downloaded: \(url)" }
        let size = Quantity.count(attachment.byteCount, "byte")
        let digest = attachment.sha256.prefix(12) + (attachment.sha256.count > 12 ? "…" : "")
        return "\(attachment.name)  \(attachment.contentType), \(size), sha256 \(digest)"
    }

    private static func lines(of other: OtherDocument) -> [String] {
        let keyspace = other.keyspace.map { " in \($0)" } ?? ""
        return lines("put \(other.id)\(keyspace)", other.document)
    }

    private static func line(of total: Total) -> String {
        let values = total.values.map { "\($0.name) \($0.amount)" }.joined(separator: ", ")
        return "adds to \(total.target): \(values)"
    }

    private static func lines(_ title: String, _ content: JSONText?) -> [String] {
        [title] + (content.map { $0.root.indentedLines(indent: 2).map { "  " + $0 } } ?? [])
    }
}
