internal import Encodings
internal import LosslessJSON
internal import Rules

extension PlayJSON {
    /// Longer documents are shown as a patch, because their comparison would take too long.
    private static let comparedLimit = 1 << 20
    /// The maximum number of lines of a comparison.
    private static let lineLimit = 2000
    /// The maximum number of bytes of the effects.
    private static let textLimit = 1 << 20
    /// The maximum number of bytes of a patch that are shown.
    private static let patchLimit = 16 << 10
    /// The largest picture that is shown.
    private static let pictureLimit = 512 << 10
    private static let pictureTypes: [String: FileSignature] = [
        "image/png": .png, "image/jpeg": .jpeg, "image/gif": .gif, "image/webp": .webp,
    ]

    /// Everything that the rules do to one document.
    static func detail(
        _ number: Int, _ report: DecisionReport, _ diff: DocumentDiffing, now: Int
    ) -> [UInt8] {
        line { writer in
            writer.name("detail")
            writer.object { writer in
                writer.member("number", integer: number)
                writer.name("fired")
                writer.array { writer in for name in report.fired { writer.string(name) } }
                writer.member("deleted", bool: report.decision.isDeletion)
                writer.member("changed", bool: report.decision.isChanged)
                writer.member("error", optional: report.decision.error?.description)
                writer.member("now", string: Timestamp.text(now))
                writeDiff(report, diff, to: &writer)
                writeAttachments(report, to: &writer)
                writeEffects(report, to: &writer)
                writer.name("timers")
                writer.array { writer in for time in report.decision.times { write(time, now: now, to: &writer) } }
                writer.name("skipped")
                writer.array { writer in for skip in report.decision.skipped { writer.string(skip.description) } }
            }
        }
    }

    private static func writeDiff(_ report: DecisionReport, _ diff: DocumentDiffing, to writer: inout JSONWriter) {
        writer.name("diff")
        guard report.decision.isChanged, report.decision.error == nil, !report.decision.isMapping else {
            return writer.array { _ in }
        }
        let after = report.decision.isDeletion ? nil : report.decision.document
        guard max(report.document.bytes.count, after?.bytes.count ?? 0) <= comparedLimit else {
            return writer.array { writer in
                let note = "The document has \(report.document.bytes.count) bytes, too many to be compared here."
                guard !report.decision.isDeletion else { return writer.string(note) }
                let patch = report.patch.json
                let text = String(decoding: patch.prefix(patchLimit), as: UTF8.self)
                writer.string("\(note) The patch: \(text)")
                if patch.count > patchLimit { writer.string("  … \(patch.count - patchLimit) more bytes") }
            }
        }
        let lines = diff(report.document, after)
        writer.array { writer in
            for line in lines.prefix(lineLimit) { writer.string(line) }
            if lines.count > lineLimit { writer.string("  … \(lines.count - lineLimit) more lines") }
        }
    }

    private static func writeAttachments(_ report: DecisionReport, to writer: inout JSONWriter) {
        writer.name("attachments")
        writer.array { writer in
            for name in report.attached {
                guard let attachment = report.decision.attachments[name] else { continue }
                writer.object { writer in
                    writer.member("name", string: name.text)
                    writer.member("type", string: attachment.contentType)
                    if let url = attachment.url { return writer.member("url", string: url) }
                    writer.member("length", integer: attachment.content.length)
                    guard isPicture(attachment) else { return }
                    let data = String(decoding: attachment.content.base64, as: UTF8.self)
                    writer.member("picture", string: "data:\(attachment.contentType);base64,\(data)")
                }
            }
        }
    }

    /// Whether a small attachment is a picture of the type that the rule gives it. Any file can be named there.
    private static func isPicture(_ attachment: Attachment) -> Bool {
        guard attachment.content.length <= pictureLimit, let type = pictureTypes[attachment.contentType]
        else { return false }
        let head = Array(attachment.content.base64.prefix(16))
        return (try? Base64.decode(head.span)).flatMap { FileSignature($0) } == type
    }

    private static func writeEffects(_ report: DecisionReport, to writer: inout JSONWriter) {
        var effects = JSONWriter()
        report.writeEffects(to: &effects, withSkips: false)
        writer.member("effects", raw: effects.bytes.count <= textLimit ? effects.bytes : Array("[]".utf8))
        writer.member("effectsAreTooLong", bool: effects.bytes.count > textLimit)
    }

    private static func write(_ time: RuleTime, now: Int, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("rule", string: time.rule)
            writer.member("at", string: Timestamp.text(time.due))
            writer.member("seconds", integer: time.due)
            writer.member("due", bool: time.due <= now)
        }
    }
}
