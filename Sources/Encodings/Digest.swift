internal import CCrypto

/// Digests for content: SHA-1 and MD5 in the protocol, SHA-256 for files and rule sets.
///
/// Gateways identify attachments by SHA-1 and MD5. These detect damage, but do not protect against attackers.
package enum Digest: String, Sendable {
    case md5, sha1, sha256

    /// The raw digest: 16, 20 or 32 bytes.
    package func callAsFunction(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        let isDone = EVP_Digest(bytes, bytes.count, &digest, &count, type, nil) == 1
        precondition(isDone, "OpenSSL does not support \(self) here")
        return Array(digest.prefix(Int(count)))
    }

    /// The digest in lowercase hexadecimal.
    package func hex(_ bytes: [UInt8]) -> String { self(bytes).hex }

    /// The name that gateways give an attachment's content: `sha1-` or `md5-`, and the digest in base64.
    package func attachmentName(_ content: [UInt8]) -> String { "\(rawValue)-\(Base64.text(self(content)))" }

    fileprivate var type: OpaquePointer? { Self.types[self]?.pointer }

    /// Looked up once, because OpenSSL would search its providers for each digest.
    private static let types = Dictionary(
        uniqueKeysWithValues: [md5, sha1, sha256].map { ($0, Implementation(EVP_MD_fetch(nil, $0.rawValue, nil))) })

    /// Never freed.
    private struct Implementation: @unchecked Sendable {
        let pointer: OpaquePointer?

        init(_ pointer: OpaquePointer?) { self.pointer = pointer }
    }
}

/// A digest of bytes that arrive in pieces. A value: a copy continues independently.
///
/// - Note: Source: `EVP_DigestInit(3)`, OpenSSL 3.
package struct RunningDigest: Sendable {
    /// Modified only while a single value refers to it.
    private final class Context: @unchecked Sendable {
        let pointer: OpaquePointer?

        /// - Parameter copied: The context to copy; nil: a new one.
        init(_ algorithm: Digest, copied: Context? = nil) {
            pointer = EVP_MD_CTX_new()
            let isReady =
                if let copied {
                    EVP_MD_CTX_copy_ex(pointer, copied.pointer) == 1
                } else {
                    EVP_DigestInit_ex(pointer, algorithm.type, nil) == 1
                }
            // Fails only for lack of memory, like any allocation.
            precondition(isReady, "OpenSSL does not support \(algorithm) here")
        }

        deinit { EVP_MD_CTX_free(pointer) }
    }

    private let algorithm: Digest
    private var context: Context
    /// The number of bytes so far.
    package private(set) var byteCount = 0

    /// The digest of no bytes yet.
    package init(_ algorithm: Digest) {
        self.algorithm = algorithm
        context = Context(algorithm)
    }

    /// Adds bytes. Copies them first only if they are not stored contiguously.
    package mutating func update(_ bytes: some Collection<UInt8>) {
        let isDone: Void? = bytes.withContiguousStorageIfAvailable { update(UnsafeRawBufferPointer($0)) }
        if isDone == nil { Array(bytes).withUnsafeBytes { update($0) } }
    }

    /// Adds bytes, without copying them.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        if !isKnownUniquelyReferenced(&context) { context = Context(algorithm, copied: context) }
        let isDone = EVP_DigestUpdate(context.pointer, bytes.baseAddress, bytes.count) == 1
        precondition(isDone, "OpenSSL does not support \(algorithm) here")
        byteCount += bytes.count
    }

    /// The digest of all bytes so far. More may be added afterwards.
    package var bytes: [UInt8] {
        let last = Context(algorithm, copied: context)
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        precondition(
            EVP_DigestFinal_ex(last.pointer, &digest, &count) == 1, "OpenSSL does not support \(algorithm) here")
        return Array(digest.prefix(Int(count)))
    }

    /// The same in lowercase hexadecimal.
    package var hex: String { bytes.hex }
}

extension Sequence<UInt8> {
    /// In lowercase hexadecimal, two digits for each byte.
    package var hex: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
