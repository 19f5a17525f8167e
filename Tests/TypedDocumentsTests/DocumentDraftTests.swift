import GatewayClient
import LosslessJSON
import Testing

@testable import TypedDocuments

/// Swift Testing also has a type of this name.
private typealias Attachment = TypedDocuments.Attachment

/// The document that a save would write.
@Suite struct DocumentDraftTests {
    private struct Note: DocumentCodable {
        static let documentType: String? = "note"

        var origin = DocumentOrigin()
        var text: String
        var numbers: [Double]?
        var picture: Attachment?
        var pages: [Page]?
    }

    private struct Page: Codable, Sendable { var scan: Attachment }

    private struct Meddler: DocumentCodable {
        var origin = DocumentOrigin()
        var revisionText: String

        private enum CodingKeys: String, CodingKey {
            case origin
            case revisionText = "_rev"
        }
    }

    private func read<Document: DocumentCodable>(_ type: Document.Type, _ text: String) throws -> Document {
        try DocumentDecoder().decode(type, from: JSONText(text).root)
    }

    private func draft(_ document: some DocumentCodable, isCollection: Bool = false) throws -> DocumentDraft {
        try DocumentDraft(of: document, isCollection: isCollection)
    }

    private func text(_ draft: DocumentDraft) -> String { String(decoding: draft.body.bytes, as: UTF8.self) }

    @Test func newDocumentGetsTypeOutsideCollections() throws {
        let note = Note(origin: DocumentOrigin("n"), text: "a")
        #expect(text(try draft(note)) == #"{"text":"a","_id":"n","type":"note"}"#)
        #expect(text(try draft(note, isCollection: true)) == #"{"text":"a","_id":"n"}"#)
    }

    @Test func otherContentKeepsItsBytes() throws {
        let document =
            #"{ "_id" : "n","_rev":"1-a", "text":"\u0061" , "numbers":[1.10, 2e0,3], "big":12345678901234567890 }"#
        var note = try read(Note.self, document)
        #expect(try draft(note).isUnchanged)
        note.numbers?[1] = 5
        #expect(text(try draft(note)) == document.replacing("2e0", with: "5.0"))
    }

    @Test func attachmentIsRemovedWithItsProperty() throws {
        let stub = #"{"content_type":"image/png","length":3,"digest":"sha1-x","revpos":1,"stub":true}"#
        var note = try read(
            Note.self, #"{"_id":"n","_rev":"1-a","text":"a","_attachments":{"other":{"stub":true},"picture":\#(stub)}}"#
        )
        #expect(note.picture?.digest == "sha1-x" && note.picture?.byteCount == 3)
        note.picture = nil
        #expect(text(try draft(note)) == #"{"_id":"n","_rev":"1-a","text":"a","_attachments":{"other":{"stub":true}}}"#)
    }

    @Test func newAttachmentIsStoredUnderItsProperty() throws {
        let note = Note(origin: DocumentOrigin("n"), text: "a", picture: Attachment([1], contentType: "image/png"))
        let draft = try draft(note)
        #expect(draft.uploads.map(\.name) == ["picture"] && draft.uploads.map(\.bytes) == [[1]])
        let saved = try JSONText(draft.saved(as: RevisionID("3-a")).bytes).root
        #expect(saved["_rev"]?.string == "3-a" && saved["_attachments"]?["picture"]?["revpos"]?.integer == 3)
    }

    @Test func attachmentInListIsBlob() throws {
        let pages = [Page(scan: Attachment([1], contentType: "image/png"))]
        let draft = try draft(Note(origin: DocumentOrigin("n"), text: "a", pages: pages))
        #expect(draft.uploads.map(\.name) == ["blob_/pages/0/scan"])
        #expect(draft.body.root["pages"]?.element(0)?["scan"]?["@type"]?.string == "blob")
    }

    @Test func attachmentWithOtherNameIsRefused() throws {
        let other = try read(
            Note.self, #"{"_id":"n","text":"a","_attachments":{"picture":{"content_type":"a/b","stub":true}}}"#)
        let note = Note(text: "a", pages: try [Page(scan: #require(other.picture))])
        #expect(throws: EncodingError.self) { try draft(note) }
    }

    @Test func storedAttachmentCannotBeCopied() throws {
        let stub = #"{"content_type":"a/b","stub":true}"#
        var note = try read(Note.self, #"{"_id":"n","text":"a","_attachments":{"picture":\#(stub)}}"#)
        note.origin = DocumentOrigin("copy")
        #expect(throws: EncodingError.self) { try draft(note) }
        note.picture = nil
        #expect(text(try draft(note)) == #"{"text":"a","_id":"copy","type":"note"}"#)
    }

    @Test(arguments: [
        (#"{"_id":"n","_rev":"2-b","type":"note","text":"a","_attachments":{"picture":{"digest":"DIGEST"}}}"#, true),
        (#"{"_id":"n","_rev":"2-b","type":"note","text":"b","_attachments":{"picture":{"digest":"DIGEST"}}}"#, false),
        (#"{"_id":"n","_rev":"2-b","type":"note","text":"a","_attachments":{"picture":{"digest":"sha1-x"}}}"#, false),
        (#"{"_id":"n","_rev":"2-b","type":"note","text":"a"}"#, false),
    ])
    func attachmentBelongsToContent(other: String, isSame: Bool) throws {
        let draft = try draft(
            Note(origin: DocumentOrigin("n"), text: "a", picture: Attachment([1, 2, 3], contentType: "image/png")))
        let other = try JSONText(other.replacing("DIGEST", with: "sha1-cDeAcZjCKn0rCAc3HXY3eahP388=")).root
        #expect(draft.isContent(of: other, for: .syncGateway) == isSame)
    }

    /// After the save, it would be the previous revision's attachment.
    @Test func versionMemberIsNotSent() throws {
        var note = try read(Note.self, #"{"_cv":"1@a","_id":"n","_rev":"1-a","text":"a"}"#)
        #expect(try draft(note).isUnchanged)
        note.text = "b"
        #expect(text(try draft(note)) == #"{"_id":"n","_rev":"1-a","text":"b"}"#)
    }

    @Test func codingKeysMayOmitOrigin() throws {
        struct Plain: DocumentCodable {
            var origin = DocumentOrigin()
            var text: String

            private enum CodingKeys: CodingKey { case text }
        }
        let document = try JSONText(#"{"_id":"n","_rev":"1-a","text":"a"}"#).root
        var plain = try DocumentReading<Plain>(isCollection: false).read(document, id: "n", revision: nil).get()
        #expect(plain.id == "n" && plain.revision == RevisionID("1-a"))
        plain.text = "b"
        #expect(text(try draft(plain)) == #"{"_id":"n","_rev":"1-a","text":"b"}"#)
    }

    @Test func propertyMustNotChangeRevision() throws {
        var meddler = try read(Meddler.self, #"{"_id":"n","_rev":"1-a"}"#)
        #expect(try draft(meddler).isUnchanged)
        meddler.revisionText = "2-b"
        #expect(throws: EncodingError.self) { try draft(meddler) }
    }
}
