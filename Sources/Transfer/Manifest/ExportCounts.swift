internal import LosslessJSON

/// How much an export holds.
package struct ExportCounts: Sendable, Equatable {
    /// Lines, or elements, or CSV's records without the one that names the columns.
    package var lines = 0
    /// Of these, the ones that only say that a document is gone.
    package var tombstones = 0
    /// Documents that could not be read, and are missing.
    package var unreadable = 0
    /// Stubs of attachments that were met.
    package var attachments = 0
    /// Of these, the ones whose bytes came along, and how many bytes.
    package var bodies = 0
    package var bodyBytes = 0
    /// Of these, the ones whose bytes the gateway does not have.
    package var missingBodies = 0

    package init() {}

    init?(_ manifest: JSONValue) {
        guard let lines = manifest["count"]?.count else { return nil }
        self.lines = lines
        tombstones = manifest["tombstones"]?.count ?? 0
        unreadable = manifest["unreadable"]?.count ?? 0
        let attachments = manifest["attachments"]
        self.attachments = attachments?["stubs"]?.count ?? 0
        bodies = attachments?["bodies"]?.count ?? 0
        bodyBytes = attachments?["bytes"]?.count ?? 0
        missingBodies = attachments?["missing"]?.count ?? 0
    }

    func write(to writer: inout JSONWriter) {
        writer.member("count", integer: lines)
        writer.member("tombstones", integer: tombstones)
        writer.member("unreadable", integer: unreadable)
        writer.name("attachments")
        writer.object { writer in
            writer.member("stubs", integer: attachments)
            writer.member("bodies", integer: bodies)
            writer.member("bytes", integer: bodyBytes)
            writer.member("missing", integer: missingBodies)
        }
    }
}
