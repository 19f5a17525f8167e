internal import DocumentFlow
internal import LosslessJSON

extension ExportWriter {
    /// Counts a line that stays in the export, as it was counted when it was written.
    func count(_ line: ArraySlice<UInt8>, in counts: inout ExportCounts) throws {
        let document = try Self.document(line).root
        counts.lines += 1
        if document["_deleted"]?.bool == true { counts.tombstones += 1 }
        guard let stubs = document["_attachments"], stubs.kind == .object else { return }
        for stub in stubs.members.map(\.value) {
            let byteCount = attachments == nil ? nil : Self.byteCount(of: stub, in: attachments?.store)
            guard byteCount != nil || stub["stub"]?.bool == true else { continue }
            counts.attachments += 1
            if let byteCount {
                counts.bodies += 1
                counts.bodyBytes += byteCount
            } else if attachments != nil {
                counts.missingBodies += 1
            }
        }
    }

    /// Length of the bytes that came along with an attachment; nil if none did.
    private static func byteCount(of attachment: JSONValue, in store: AttachmentStore?) -> Int? {
        if let data = attachment["data"] { return (try? InlineBase64(data))?.byteCount }
        guard let file = attachment["file"]?.string, let sha256 = file.split(separator: "/").last else { return nil }
        return store?.byteCount(of: String(sha256))
    }

    /// Takes over the counts of the lines that stay: superseded ones were counted too when they were written.
    func correct(_ counts: ExportCounts) {
        let before = journal.manifest.counts
        journal.manifest.counts = counts
        journal.manifest.counts.unreadable = before.unreadable
        report.count { counters in
            let superseded = before.lines - counts.lines
            counters.matched = max(0, counters.matched - superseded)
            counters.written = max(0, counters.written - superseded)
            counters.deadLetters = max(0, counters.deadLetters - before.missingBodies + counts.missingBodies)
        }
    }
}
