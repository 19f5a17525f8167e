internal import CCrypto

/// The digests that name content: SHA-1 and MD5 on the wire, SHA-256 for files and rule sets.
package enum Digest: Sendable {
    case md5
    case sha1
    case sha256

    /// The digest's bytes.
    package func callAsFunction(_ bytes: [UInt8]) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        let status = EVP_Digest(bytes, bytes.count, &result, &count, algorithm, nil)
        precondition(status == 1, "OpenSSL computes no \(self) digests here")
        return Array(result.prefix(Int(count)))
    }

    /// The digest in lowercase hexadecimal.
    package func hex(_ bytes: [UInt8]) -> String {
        var result = ""
        for byte in self(bytes) {
            if byte < 16 { result += "0" }
            result += String(byte, radix: 16)
        }
        return result
    }

    private var algorithm: OpaquePointer? {
        switch self {
        case .md5: EVP_md5()
        case .sha1: EVP_sha1()
        case .sha256: EVP_sha256()
        }
    }
}

/// Base64 as attachments have it: RFC 4648, section 4, padded, on one line.
package enum Base64 {
    /// - Precondition: `bytes` are fewer than 2^31.
    package static func encode(_ bytes: [UInt8]) -> [UInt8] {
        // One byte more than the text: OpenSSL ends it with a NUL.
        [UInt8](unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4 + 1) { buffer, count in
            count = Int(EVP_EncodeBlock(buffer.baseAddress, bytes, Int32(bytes.count)))
        }
    }

    /// The `count` bytes that ``encode(_:)`` made `text` of.
    static func decode(_ text: [UInt8], count: Int) -> [UInt8] {
        let bytes = [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3) { buffer, count in
            count = max(0, Int(EVP_DecodeBlock(buffer.baseAddress, text, Int32(text.count))))
        }
        // What stands for the padding goes.
        return Array(bytes.prefix(count))
    }
}
