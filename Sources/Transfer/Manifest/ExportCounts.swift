internal import LosslessJSON

/// The counts in an export's manifest.
package struct ExportCounts: Sendable, Equatable {
    /// Documents in the file: lines, array elements, or CSV rows without the header.
    package var lines = 0
    /// How many of the lines are tombstones.
    package var tombstones = 0
    /// Documents that could not be read and are missing.
    package var unreadable = 0
    /// Attachment stubs in the documents.
    package var attachments = 0
    /// Attachments whose bytes were exported.
    package var bodies = 0
    /// Bytes of the exported attachments.
    package var bodyBytes = 0
    /// Attachments whose bytes could not be fetched.
    package var missingBodies = 0

    /// All zero.
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
