/// The bytes of an attachment, whole and checked, in a file.
struct AttachmentBody: Sendable, Equatable {
    let byteCount: Int
    /// In lowercase hexadecimal.
    let sha256: String

    /// Where it stands in a folder of attachments. Two letters of the digest first: a folder of a million files is slow.
    var file: String { Self.file(sha256) }

    static func file(_ sha256: String) -> String { "sha256/\(sha256.prefix(2))/\(sha256)" }
}
