internal import CCrypto

/// The digests that name revisions (MD5), attachments (SHA-1) and documents within keys (SHA-256).
enum ContentDigest {
    static func md5(_ pieces: some Sequence<[UInt8]>) -> [UInt8] { digest(EVP_md5(), pieces) }

    /// `sha1-` and the digest in base64, as attachments are named on the wire.
    static func attachment(_ content: [UInt8]) -> String {
        "sha1-" + String(decoding: Base64.encode(digest(EVP_sha1(), [content])), as: UTF8.self)
    }

    /// `md5-` and the digest in base64, as CouchDB names attachments.
    static func md5Attachment(_ content: [UInt8]) -> String {
        "md5-" + String(decoding: Base64.encode(md5([content])), as: UTF8.self)
    }

    static func sha256(_ content: [UInt8]) -> [UInt8] { digest(EVP_sha256(), [content]) }

    private static func digest(_ algorithm: OpaquePointer?, _ pieces: some Sequence<[UInt8]>) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var result = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        precondition(EVP_DigestInit_ex(context, algorithm, nil) == 1, "OpenSSL lacks a digest here")
        for piece in pieces { EVP_DigestUpdate(context, piece, piece.count) }
        EVP_DigestFinal_ex(context, &result, &count)
        return Array(result.prefix(Int(count)))
    }
}

extension Sequence<UInt8> {
    /// In lowercase hexadecimal.
    var hex: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
