internal import CCrypto

/// Message authentication codes: with the key, a receiver can verify that a message is unchanged.
package enum MessageAuthentication {
    /// The 32 bytes of HMAC-SHA256 (RFC 2104).
    ///
    /// - Parameter key: Not empty.
    /// - Note: Source: `EVP_Q_mac(3)`, OpenSSL 3.
    package static func hmacSHA256(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        var count = 0
        let result = EVP_Q_mac(
            nil, "HMAC", nil, "SHA256", nil, key, key.count, message, message.count, &code, code.count, &count)
        // Fails only for lack of memory, like any allocation.
        precondition(result != nil && count == code.count, "OpenSSL does not support HMAC-SHA256 here")
        return code
    }
}
