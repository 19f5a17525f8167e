internal import Locking

/// The contents of attached files, kept between several readings of a rule file. A content is read again after its file
/// has changed on disk.
package final class AttachmentMemory: Sendable {
    private struct Entry {
        let version: FileVersion
        let content: AttachmentContent
    }

    /// The maximum number of base64 bytes. The newest content is kept whatever its size.
    private static let limit = 64 << 20

    private let entries = Locked<[ExactString: Entry]>([:])

    package init() {}

    func content(_ path: String) throws(FileError) -> AttachmentContent {
        let version = try FileBytes.version(of: path)
        let key = ExactString(path)
        if let entry = entries.withLock({ $0[key] }), entry.version == version { return entry.content }
        let content = AttachmentContent(try FileBytes.read(path, limit: AttachmentFiles.lengthLimit))
        entries.withLock { entries in
            let held = entries.values.reduce(content.base64.count) { $0 + $1.content.base64.count }
            if held > Self.limit { entries = [:] }
            entries[key] = Entry(version: version, content: content)
        }
        return content
    }
}
