/// The length and digest of an attachment whose bytes are complete, checked and in a file.
struct AttachmentBody: Sendable, Equatable {
    let byteCount: Int
    /// In lowercase hexadecimal.
    let sha256: String

    /// Its path in a folder of attachments. Sharded by the first two digits, because a folder of a million files is
    /// slow.
    var file: String { Self.file(sha256) }

    static func file(_ sha256: String) -> String { "sha256/\(sha256.prefix(2))/\(sha256)" }
}
