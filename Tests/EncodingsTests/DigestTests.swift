import Testing

@testable import Encodings

@Suite struct DigestTests {
    private func digest(_ algorithm: Digest, _ pieces: [[UInt8]]) -> String {
        var digest = RunningDigest(algorithm)
        for piece in pieces { digest.update(piece) }
        return digest.hex
    }

    /// From RFC 3174, section 7.3, and RFC 1321, section A.5.
    @Test(arguments: [
        ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709", "d41d8cd98f00b204e9800998ecf8427e"),
        ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d", "900150983cd24fb0d6963f7d28e17f72"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
            "8215ef0796a20bcaaae116d3876c664a"
        ),
        (
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "50abf5706a150990a08b2c5ea40fa0e585554732", "57edf4a22be3c955ac49da2e2107b67a"
        ),
    ])
    func digestsMatchKnownOnes(text: String, sha1: String, md5: String) {
        let bytes = Array(text.utf8)
        #expect(digest(.sha1, [bytes]) == sha1)
        #expect(digest(.md5, [bytes]) == md5)
        #expect(digest(.sha1, bytes.map { [$0] }) == sha1)
        #expect(digest(.md5, bytes.map { [$0] }) == md5)
    }

    @Test func copyContinuesIndependently() {
        var digest = RunningDigest(.sha256)
        digest.update(Array("ab".utf8))
        var copy = digest
        copy.update(Array("c".utf8))
        #expect(digest.hex == Digest.sha256.hex(Array("ab".utf8)))
        #expect(copy.hex == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(digest.byteCount == 2 && copy.byteCount == 3)
    }

    @Test func contentHasGatewayName() {
        #expect(Digest.sha1.attachmentName([]) == "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=")
        #expect(Digest.md5.attachmentName([]) == "md5-1B2M2Y8AsgTpgAmY7PhCfg==")
    }
}
