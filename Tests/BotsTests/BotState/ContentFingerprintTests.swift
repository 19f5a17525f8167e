import LosslessJSON
import Testing

@testable import BotState

@Suite struct ContentFingerprintTests {
    private func fingerprint(_ text: String) throws -> ContentFingerprint {
        ContentFingerprint(try JSONText(Array(text.utf8)).root)
    }

    @Test(arguments: [
        #"{"_id":"a","_rev":"2-b","n":1,"m":[1, 2]}"#, #"{"m":[1, 2],"n":1,"_id":"a"}"#,
        #"{"_cv":"x","_id":"a","n":1,"m":[1, 2]}"#,
    ])
    func fingerprintIgnoresRevisionAndMemberOrder(text: String) throws {
        let first = try fingerprint(#"{"_id":"a","_rev":"1-a","n":1,"m":[1, 2]}"#)
        #expect(try fingerprint(text) == first)
    }

    @Test(arguments: [#"{"_id":"a","n":1}"#, #"{"_id":"a","n":1.0,"m":[1, 2]}"#, #"{"_id":"b","n":1,"m":[1, 2]}"#])
    func differentContentHasAnotherFingerprint(text: String) throws {
        let first = try fingerprint(#"{"_id":"a","_rev":"1-a","n":1,"m":[1, 2]}"#)
        #expect(try fingerprint(text) != first)
    }

    @Test func fingerprintUsesAttachmentDigestsAndIgnoresRevpos() throws {
        let one = try fingerprint(#"{"_attachments":{"i":{"digest":"md5-x","revpos":2,"stub":true}}}"#)
        #expect(try fingerprint(#"{"_attachments":{"i":{"stub":true,"revpos":7,"digest":"md5-x"}}}"#) == one)
        #expect(try fingerprint(#"{"_attachments":{"i":{"digest":"md5-y","revpos":2,"stub":true}}}"#) != one)
        #expect(try fingerprint(#"{"_attachments":{"j":{"digest":"md5-x","revpos":2,"stub":true}}}"#) != one)
    }
}
