internal import CCrypto

/// Message authentication codes: with the key, a receiver can verify that a message is unchanged.
package enum MessageAuthentication {
    /// The hash that a code is made with.
    package enum Hash: String, Sendable {
        case sha1 = "SHA1"
        case sha256 = "SHA256"
        case sha512 = "SHA512"
    }

    /// The 32 bytes of HMAC-SHA256 (RFC 2104).
    ///
    /// - Parameter key: Not empty.
    package static func hmacSHA256(_ message: [UInt8], key: [UInt8]) -> [UInt8] { hmac(.sha256, message, key: key) }

    /// The bytes of an HMAC (RFC 2104): as many as those of the hash.
    ///
    /// - Parameter key: Not empty.
    /// - Note: Source: `EVP_Q_mac(3)`, OpenSSL 3.
    package static func hmac(_ hash: Hash, _ message: [UInt8], key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 64)
        var count = 0
        let result = EVP_Q_mac(
            nil, "HMAC", nil, hash.rawValue, nil, key, key.count, message, message.count, &code, code.count, &count)
        // Fails only for lack of memory, like any allocation.
        precondition(result != nil, "OpenSSL does not support HMAC-\(hash.rawValue) here")
        return Array(code.prefix(count))
    }
}
