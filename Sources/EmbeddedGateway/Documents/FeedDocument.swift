internal import Glibc

/// Documents as in rows of `_changes` and `_all_docs`: the body first, then the gateway's members.
///
/// A row is always one line: line breaks, which JSON allows only between tokens, become spaces.
enum FeedDocument {
    static func append(
        id: [UInt8], revision: [UInt8], version: String?, isDeleted: Bool, body: UnsafeRawBufferPointer,
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
        if let version {
            line += #","_cv":""#.utf8
            line += version.utf8
            line.append(UInt8(ascii: "\""))
        }
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
        guard hasLineBreak(text) else { return }
        for index in start..<line.count where line[index] == 0x0A || line[index] == 0x0D { line[index] = 0x20 }
    }

    private static func hasLineBreak(_ text: UnsafeRawBufferPointer) -> Bool {
        guard let start = text.baseAddress else { return false }
        return memchr(start, 0x0A, text.count) != nil || memchr(start, 0x0D, text.count) != nil
    }
}
