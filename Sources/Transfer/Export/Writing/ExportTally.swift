internal import DocumentFlow
internal import GatewayClient
internal import Logging

/// Counts what an export writes, for the manifest and the report, and logs what could not be exported.
final class ExportTally {
    private(set) var counts: ExportCounts
    private let report: ExportReport
    private let logger: Logger
    private var messages = RepeatedMessages(
        last: "further documents and attachments that can't be exported are not logged individually")

    /// - Parameter counts: What interrupted runs have written.
    init(_ counts: ExportCounts, report: ExportReport, logger: Logger) {
        self.counts = counts
        self.report = report
        self.logger = logger
    }

    func noteLine(isTombstone: Bool) {
        counts.lines += 1
        if isTombstone { counts.tombstones += 1 }
        report.count { counters in
            counters.matched += 1
            counters.written += 1
        }
    }

    func note(outputBytes count: Int) { report.count { $0.bytesOut = count } }

    func note(_ stubs: [AttachmentStub]) { counts.attachments += stubs.count }

    func note(_ body: AttachmentBody) {
        counts.bodies += 1
        counts.bodyBytes += body.byteCount
        report.count { $0.bytesIn += body.byteCount }
    }

    // MARK: - Missing data

    func noteMissing(_ stub: AttachmentStub, of document: UnfetchedAttachments, _ reason: String) {
        counts.missingBodies += 1
        log(
            "an attachment can't be exported; its document keeps the stub", document.id, document.revision, reason,
            [LogKey.attachment: "\(stub.name)"])
    }

    func noteUnreadable(_ id: DocumentID, _ revision: RevisionID?, _ reason: String) {
        counts.unreadable += 1
        log("a document can't be exported", id, revision, reason)
    }

    private func log(
        _ message: Logger.Message, _ id: DocumentID, _ revision: RevisionID?, _ reason: String,
        _ more: Logger.Metadata = [:]
    ) {
        report.count { $0.deadLetters += 1 }
        let facts: Logger.Metadata = [
            LogKey.id: "\(id)", LogKey.revision: "\(revision?.text ?? "")", LogKey.reason: "\(reason)",
        ]
        messages.log(message, .error, to: logger, facts.merging(more) { _, new in new })
    }

    // MARK: - Finishing

    /// Sets how many lines the final file has.
    func setLines(_ count: Int) { counts.lines = count }

    /// Replaces the counts with those of the remaining lines. Superseded lines were counted too when they were written.
    func correct(_ counts: ExportCounts) {
        let before = self.counts
        self.counts = counts
        self.counts.unreadable = before.unreadable
        report.count { counters in
            let superseded = before.lines - counts.lines
            counters.matched = max(0, counters.matched - superseded)
            counters.written = max(0, counters.written - superseded)
            counters.deadLetters = max(0, counters.deadLetters - before.missingBodies + counts.missingBodies)
        }
    }
}
