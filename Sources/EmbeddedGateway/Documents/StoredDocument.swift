internal import LosslessJSON

/// One revision of a document as it stands in the file.
struct StoredDocument: Sendable {
    let id: String
    let revision: String
    let isDeleted: Bool
    let body: [UInt8]
    let attachments: [UInt8]?

    /// The document as GET answers it: the gateway's members first, then the body as it came.
    ///
    /// - Parameters:
    ///   - attachments: In place of the stored stubs; nil for those.
    ///   - history: `_revisions`, if asked for.
    func text(attachments inlined: [UInt8]? = nil, history: [RevisionID]? = nil) -> [UInt8] {
        var text = JSONWriter(minimumCapacity: body.count + 160)
        text.object { text in
            if let attachments = inlined ?? attachments { text.member("_attachments", raw: attachments) }
            if isDeleted { text.member("_deleted", bool: true) }
            text.member("_id", escaped: id)
            text.member("_rev", escaped: revision)
            if let history { text.member("_revisions", raw: RevisionHistory.write(history)) }
            if body.count > 2 { text.raw(body.dropFirst().dropLast()) }
        }
        return text.bytes
    }
}

/// Documents as the rows of `_changes` and `_all_docs` have them: the body first, then the gateway's members.
///
/// A row is one line whatever the body looks like: line breaks, which JSON has only between its tokens, become spaces.
enum FeedDocument {
    static func append(
        id: [UInt8], revision: [UInt8], isDeleted: Bool, body: UnsafeRawBufferPointer,
        attachments: UnsafeRawBufferPointer?, to line: inout [UInt8]
    ) {
        line.append(UInt8(ascii: "{"))
        if body.count > 2 {
            append(UnsafeRawBufferPointer(rebasing: body[1..<body.count - 1]), to: &line)
            line.append(UInt8(ascii: ","))
        }
        line += #""_id":"#.utf8
        line += id
        line += #","_rev":"#.utf8
        line += revision
        if let attachments {
            line += #","_attachments":"#.utf8
            append(attachments, to: &line)
        }
        if isDeleted { line += #","_deleted":true"#.utf8 }
        line.append(UInt8(ascii: "}"))
    }

    private static func append(_ text: UnsafeRawBufferPointer, to line: inout [UInt8]) {
        let start = line.count
        line.append(contentsOf: text)
        guard LineBreaks.occur(in: text) else { return }
        for index in start..<line.count where line[index] == 0x0A || line[index] == 0x0D { line[index] = 0x20 }
    }
}
