internal import CCrypto

/// SHA-1 or MD5 of bytes that come piece by piece. A value: a copy goes its own way.
///
/// For the digests that gateways give their attachments, against damage on the way; neither protects against malice.
///
/// - Note: Source: `EVP_DigestInit(3)`, OpenSSL 3.
struct BlockDigest: Sendable {
    enum Algorithm: String, Sendable {
        case sha1, md5
    }

    /// Changed only while a single value refers to it.
    private final class Context: @unchecked Sendable {
        let pointer: OpaquePointer?

        /// - Parameter copied: Nil: nothing has come yet.
        init(_ algorithm: Algorithm, copied: Context? = nil) {
            pointer = EVP_MD_CTX_new()
            let isReady =
                if let copied {
                    EVP_MD_CTX_copy_ex(pointer, copied.pointer) == 1
                } else {
                    EVP_DigestInit_ex(pointer, algorithm == .sha1 ? EVP_sha1() : EVP_md5(), nil) == 1
                }
            // Only out of memory can make it fail, as any allocation.
            precondition(isReady, "OpenSSL computes no \(algorithm.rawValue) here")
        }

        deinit { EVP_MD_CTX_free(pointer) }
    }

    private let algorithm: Algorithm
    private var context: Context

    init(_ algorithm: Algorithm) {
        self.algorithm = algorithm
        context = Context(algorithm)
    }

    mutating func update(_ bytes: [UInt8]) {
        if !isKnownUniquelyReferenced(&context) { context = Context(algorithm, copied: context) }
        let isDone = bytes.withUnsafeBytes { EVP_DigestUpdate(context.pointer, $0.baseAddress, $0.count) == 1 }
        precondition(isDone, "OpenSSL computes no \(algorithm.rawValue) here")
    }

    /// The digest of all that came. More may come afterwards.
    func finish() -> [UInt8] {
        let last = Context(algorithm, copied: context)
        var digest = [UInt8](repeating: 0, count: algorithm == .sha1 ? 20 : 16)
        precondition(
            EVP_DigestFinal_ex(last.pointer, &digest, nil) == 1, "OpenSSL computes no \(algorithm.rawValue) here")
        return digest
    }
}
