internal import LosslessJSON

/// Counts the lines that remain in an export, by the same rules as when they were written.
struct ExportRecount {
    private(set) var counts = ExportCounts()
    /// Whether attachments were exported.
    private let hasBodies: Bool
    private let store: AttachmentStore?

    init(_ attachments: AttachmentExport?) {
        hasBodies = attachments != nil
        store = attachments?.store
    }

    mutating func count(_ line: ArraySlice<UInt8>) throws {
        let document = try WrittenDocuments.document(line).root
        counts.lines += 1
        if document["_deleted"]?.bool == true { counts.tombstones += 1 }
        guard let stubs = document["_attachments"], stubs.kind == .object else { return }
        for stub in stubs.members.map(\.value) {
            let byteCount = hasBodies ? Self.byteCount(of: stub, in: store) : nil
            guard byteCount != nil || stub["stub"]?.bool == true else { continue }
            counts.attachments += 1
            if let byteCount {
                counts.bodies += 1
                counts.bodyBytes += byteCount
            } else if hasBodies {
                counts.missingBodies += 1
            }
        }
    }

    /// Length of an attachment's exported bytes; nil if they were not exported.
    private static func byteCount(of attachment: JSONValue, in store: AttachmentStore?) -> Int? {
        if let data = attachment["data"] { return (try? InlineBase64(data))?.byteCount }
        guard let file = attachment["file"]?.string, let sha256 = file.split(separator: "/").last else { return nil }
        return store?.byteCount(of: String(sha256))
    }
}
