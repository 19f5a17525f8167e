internal import LosslessJSON

/// What would change in one document, for people.
struct DocumentDiff {
    struct NewAttachment {
        let name: String
        let contentType: String
        let byteCount: Int
        /// In hexadecimal digits.
        let sha256: String
    }

    /// A document that would be written beside this one.
    struct OtherDocument {
        let id: String
        /// Nil: the same one.
        var keyspace: String?
        /// What the rule wants it to be, or to have.
        var document: JSONText?
    }

    enum Outcome {
        /// `_attachments` of both are left out: attachments are shown on their own.
        case written(JSONText)
        case deleted
        /// Rules could not be applied, and why.
        case deadLettered(reason: String)
    }

    let id: String
    let revision: String?
    /// The names of the rules that fired.
    let rules: [String]
    let before: JSONText
    let outcome: Outcome
    var attached: [NewAttachment] = []
    /// The names of attachments that are taken away.
    var detached: [String] = []
    var otherDocuments: [OtherDocument] = []

    /// A line that names the document, then what would happen to it, then what would happen beside it.
    func lines(_ style: TerminalStyle) -> [VisibleLine] {
        [heading(style)] + body(style)
            + detached.map { style.red("- attachment \($0)") }
            + attached.map { style.green("+ attachment \(Self.description(of: $0))") }
            + otherDocuments.flatMap { Self.lines(of: $0).map(style.green) }
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
        // A member that is no longer the last one gets a comma: no difference that anybody asked for.
        return (bare ?? document).root.indentedLines(indent: 2).map { $0.hasSuffix(",") ? String($0.dropLast()) : $0 }
    }

    private static func description(of attachment: NewAttachment) -> String {
        let size = attachment.byteCount == 1 ? "1 byte" : "\(Quantity.count(attachment.byteCount)) bytes"
        let digest = attachment.sha256.prefix(12) + (attachment.sha256.count > 12 ? "…" : "")
        return "\(attachment.name)  \(attachment.contentType), \(size), sha256 \(digest)"
    }

    private static func lines(of other: OtherDocument) -> [String] {
        let keyspace = other.keyspace.map { " in \($0)" } ?? ""
        return ["put \(other.id)\(keyspace)"]
            + (other.document.map { $0.root.indentedLines(indent: 2).map { "  " + $0 } } ?? [])
    }
}
