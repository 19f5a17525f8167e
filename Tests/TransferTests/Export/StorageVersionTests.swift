import LosslessJSON
import Testing

@testable import Transfer

@Suite struct StorageVersionTests {
    @Test(arguments: [
        (
            #"{"a":1.0,"_attachments":{"x":{"stub":true,"ver":2},"y/\u00e9":{"ver":2,"stub":true}},"ver":7}"#,
            #"{"a":1.0,"_attachments":{"x":{"stub":true},"y/\u00e9":{"stub":true}},"ver":7}"#
        ),
        (#"{"_attachments":{"x":{"ver":2}, "ver":{"stub":true}}}"#, #"{"_attachments":{"x":{}, "ver":{"stub":true}}}"#),
    ]) func versionsOfAttachmentsAreLeftOut(document: String, line: String) throws {
        let text = try JSONText(Array(document.utf8)).root.withoutStorageVersions()
        #expect(String(decoding: text.bytes, as: UTF8.self) == line)
    }

    @Test(arguments: [
        #"{"ver":2}"#, #"{"_attachments":{}}"#, #"{"_attachments":[{"ver":2}]}"#, #"{"_attachments":{"a":1}}"#,
    ])
    func otherDocumentsStayAsTheyAre(document: String) throws {
        let text = try JSONText(Array(document.utf8)).root.withoutStorageVersions()
        #expect(String(decoding: text.bytes, as: UTF8.self) == document)
    }
}
