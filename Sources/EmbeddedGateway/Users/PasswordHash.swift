internal import CCrypto

/// A hashed password: PBKDF2 with HMAC-SHA-256.
///
/// - Note: Source: RFC 8018, section 5.2. The salt is 128 random bits.
struct PasswordHash: Sendable {
    private let salt: [UInt8]
    private let key: [UInt8]

    /// Takes about 10 ms, which makes guessing slow enough for a development gateway.
    private static let iterations: Int32 = 20_000

    init(_ password: String) {
        salt = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        key = Self.derive(password, salt)
    }

    /// Compares in constant time.
    func matches(_ password: String) -> Bool {
        let other = Self.derive(password, salt)
        return zip(key, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private static func derive(_ password: String, _ salt: [UInt8]) -> [UInt8] {
        var key = [UInt8](repeating: 0, count: 32)
        let characters = password.utf8.map { CChar(bitPattern: $0) }
        let done = PKCS5_PBKDF2_HMAC(
            characters, Int32(characters.count), salt, Int32(salt.count), iterations, EVP_sha256(), Int32(key.count),
            &key)
        precondition(done == 1, "OpenSSL lacks PBKDF2 here")
        return key
    }
}
