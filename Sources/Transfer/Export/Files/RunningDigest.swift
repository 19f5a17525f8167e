internal import CCrypto

/// SHA-256 of bytes that come piece by piece.
final class RunningDigest {
    private let context: OpaquePointer?
    private(set) var byteCount = 0

    init() {
        context = EVP_MD_CTX_new()
        // Only out of memory can make it fail, as any allocation.
        precondition(EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1, "OpenSSL computes no SHA-256 here")
    }

    /// Of what is left to read of a file.
    static func hex(of file: OpenFile) throws(TransferError) -> String {
        let digest = RunningDigest()
        while case let piece = try file.read(upTo: 256 << 10), !piece.isEmpty { digest.update(piece) }
        return digest.hex
    }

    deinit { EVP_MD_CTX_free(context) }

    func update(_ bytes: some Collection<UInt8>) {
        let isDone: Void? = bytes.withContiguousStorageIfAvailable { update(UnsafeRawBufferPointer($0)) }
        if isDone == nil { Array(bytes).withUnsafeBytes { update($0) } }
    }

    func update(_ bytes: UnsafeRawBufferPointer) {
        precondition(EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1, "OpenSSL computes no SHA-256 here")
        byteCount += bytes.count
    }

    /// Of all bytes so far, in lowercase hexadecimal; more may follow.
    var hex: String {
        let copy = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(copy) }
        var digest = [UInt8](repeating: 0, count: 32)
        let isDone = EVP_MD_CTX_copy_ex(copy, context) == 1 && EVP_DigestFinal_ex(copy, &digest, nil) == 1
        precondition(isDone, "OpenSSL computes no SHA-256 here")
        return digest.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
}
