import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

@testable import TypedDocuments

/// Values that are saved as documents.
@Suite(.limitedParallelism) struct TypedSavingTests {
    @Test func newDocumentIsSavedAndRead() async throws {
        try await TypedTestBed.with { bed in
            var note = Note(origin: DocumentOrigin(bed.id("n1")), text: "hello", at: Date(timeIntervalSince1970: 1.5))
            guard case .saved(let revision) = try await bed.keyspace.save(&note) else {
                Issue.record("not saved")
                return
            }
            #expect(note.id == bed.id("n1") && note.revision == revision && revision.generation == 1)
            let document = try await bed.text("n1")
            // In a named collection, the collection determines the type.
            let type = bed.other.url.keyspace.isNamedCollection ? nil : "note"
            #expect(document["type"]?.string == type && document["text"]?.string == "hello")
            #expect(document["at"]?.string == "1970-01-01T00:00:01.500Z")
            #expect(document["count"] == nil && document["origin"] == nil)
            let read = try #require(try await bed.note("n1"))
            #expect(read == note)
            #expect(try await bed.note("none") == nil)
        }
    }

    @Test func unknownMembersStay() async throws {
        try await TypedTestBed.with { bed in
            try await bed.put("n1", #""type":"note","text":"a","big":12345678901234567890123,"x":{"y":[1,2]}"#)
            var note = try #require(try await bed.note("n1"))
            note.text = "b"
            note.count = 2
            guard case .saved = try await bed.keyspace.save(&note) else {
                Issue.record("not saved")
                return
            }
            let document = try await bed.text("n1")
            #expect(document["big"].map { String(decoding: $0.bytes, as: UTF8.self) } == "12345678901234567890123")
            #expect(document["x"]?["y"]?.childCount == 2)
            #expect(document["text"]?.string == "b" && document["count"]?.integer == 2)
            note.count = nil
            guard case .saved = try await bed.keyspace.save(&note) else {
                Issue.record("not saved")
                return
            }
            #expect(try await bed.text("n1")["count"] == nil)
        }
    }

    @Test func unchangedDocumentIsNotWritten() async throws {
        try await TypedTestBed.with { bed in
            let revision = try await bed.put("n1", #""type":"note","text":"a","at":"2026-11-20T11:00:00+01:00""#)
            var note = try #require(try await bed.note("n1"))
            guard case .unchanged = try await bed.keyspace.save(&note) else {
                Issue.record("written")
                return
            }
            #expect(try await bed.text("n1")["_rev"]?.string == revision.text)
        }
    }

    /// Another client changes a note after it was read and changed here.
    private func withConflict(
        theirs: String?, _ body: (TypedTestBed, inout Note) async throws -> Void
    ) async throws {
        try await TypedTestBed.with { bed in
            let first = try await bed.put("n1", #""type":"note","text":"a","count":1,"more":1"#)
            var note = try #require(try await bed.note("n1"))
            note.text = "mine"
            try await bed.put("n1", theirs ?? #""_deleted":true"#, replacing: first)
            try await body(bed, &note)
        }
    }

    private static let theirs = #""type":"note","text":"theirs","count":2,"more":2"#

    @Test func conflictCarriesTheOtherVersion() async throws {
        try await withConflict(theirs: Self.theirs) { bed, note in
            guard case .conflict(with: .document(let theirs)) = try await bed.keyspace.save(&note) else {
                Issue.record("no conflict")
                return
            }
            #expect(theirs.text == "theirs" && theirs.revision?.generation == 2)
            #expect(note.text == "mine" && note.revision?.generation == 1)
            #expect(try await bed.text("n1")["text"]?.string == "theirs")
        }
    }

    @Test func conflictWithADeletionIsReported() async throws {
        try await withConflict(theirs: nil) { bed, note in
            guard case .conflict(with: .deleted) = try await bed.keyspace.save(&note) else {
                Issue.record("no conflict")
                return
            }
        }
    }

    @Test func conflictWithADocumentOfAnotherTypeIsReported() async throws {
        try await withConflict(theirs: #""type":"note","text":5"#) { bed, note in
            guard case .conflict(with: .undecodable(let error)) = try await bed.keyspace.save(&note)
            else {
                Issue.record("no conflict")
                return
            }
            #expect(error.id == bed.id("n1") && error.keyPath == "text" && error.revision?.generation == 2)
        }
    }

    @Test func otherVersionCanBeChangedAndSaved() async throws {
        try await withConflict(theirs: Self.theirs) { bed, note in
            guard case .conflict(with: .document(var theirs)) = try await bed.keyspace.save(&note) else {
                Issue.record("no conflict")
                return
            }
            theirs.text = note.text
            guard case .saved(let revision) = try await bed.keyspace.save(&theirs) else {
                Issue.record("not saved")
                return
            }
            #expect(revision.generation == 3 && theirs.revision == revision)
            let document = try await bed.text("n1")
            #expect(document["text"]?.string == "mine" && document["count"]?.integer == 2)
            #expect(document["more"]?.integer == 2)
        }
    }

    /// As after a write whose answer was lost.
    @Test func conflictWithTheSameContentIsSaved() async throws {
        try await withConflict(theirs: #""more":1.0,"count":1,"text":"mine","type":"note""#) { bed, note in
            guard case .saved(let revision) = try await bed.keyspace.save(&note) else {
                Issue.record("not saved")
                return
            }
            #expect(revision.generation == 2 && note.revision == revision)
        }
    }

    @Test func documentIsDeletedUnlessItWasChanged() async throws {
        try await withConflict(theirs: Self.theirs) { bed, note in
            guard case .conflict(with: .document(let theirs)) = try await bed.keyspace.delete(note) else {
                Issue.record("no conflict")
                return
            }
            guard case .saved = try await bed.keyspace.delete(theirs) else {
                Issue.record("not deleted")
                return
            }
            #expect(try await bed.note("n1") == nil)
        }
    }

    // MARK: - Attachments

    @Test func attachmentIsStoredReadReplacedAndRemoved() async throws {
        try await TypedTestBed.with { bed in
            let keyspace = bed.keyspace
            var note = Note(
                origin: DocumentOrigin(bed.id("n1")), text: "a",
                picture: Attachment([1, 2, 3], contentType: "image/png"))
            _ = try await keyspace.save(&note)
            #expect(try await keyspace.bytes(of: try #require(note.picture), in: note) == [1, 2, 3])
            var read = try #require(try await bed.note("n1"))
            let picture = try #require(read.picture)
            #expect(picture.contentType == "image/png" && picture.byteCount == 3 && picture.digest != nil)

            // The attachment survives other changes, both of the saved value and of the read one.
            note.text = "b"
            _ = try await keyspace.save(&note)
            read = try #require(try await bed.note("n1"))
            read.text = "c"
            _ = try await keyspace.save(&read)
            #expect(try await keyspace.bytes(of: picture, in: read) == [1, 2, 3])

            read.picture = Attachment(Data([4]), contentType: "image/gif")
            _ = try await keyspace.save(&read)
            read = try #require(try await bed.note("n1"))
            #expect(read.picture?.contentType == "image/gif")
            #expect(try await bed.other.attachment("picture", of: bed.id("n1")) == [4])

            read.picture = nil
            _ = try await keyspace.save(&read)
            #expect(try await bed.text("n1")["_attachments"]?["picture"] == nil)
        }
    }

    // MARK: - What can't be saved or read

    @Test func typeMismatchNamesItsPlace() async throws {
        try await TypedTestBed.with { bed in
            try await bed.put("n1", #""type":"note","text":"a","labels":["x",5]"#)
            let error = await #expect(throws: DocumentDecodingError.self) {
                try await bed.note("n1")
            }
            #expect(error?.description == "document '\(bed.id("n1"))': labels[1] must be text, but is a number")
            #expect(error?.value == "5")
        }
    }

    /// Otherwise it would be written although the error says that it was not.
    @Test func unreadableDocumentIsNotWritten() async throws {
        struct Stubborn: DocumentCodable {
            static let documentType: String? = "note"
            var origin = DocumentOrigin()
            var type: String
        }
        try await TypedTestBed.with { bed in
            var document = Stubborn(origin: DocumentOrigin(bed.id("n1")), type: "other")
            await #expect(throws: DocumentDecodingError.self) { try await bed.keyspace.save(&document) }
            let written = try await bed.other.document(bed.id("n1"))
            #expect(written == nil)
        }
    }

    /// Each save builds on the one before.
    @Test func valueIsSavedRepeatedly() async throws {
        try await TypedTestBed.with { bed in
            try await bed.put("n1", #""type":"note","text":"a""#)
            var note = try #require(try await bed.note("n1"))
            for count in 1...3 {
                note.count = count
                guard case .saved(let revision) = try await bed.keyspace.save(&note) else {
                    Issue.record("not saved")
                    return
                }
                #expect(revision.generation == count + 1)
            }
            #expect(try await bed.text("n1")["count"]?.integer == 3)
        }
    }

    @Test func documentOfAnotherTypeIsATypeMismatch() async throws {
        try await TypedTestBed.with { bed in
            try await bed.put("n1", #""type":"other","text":"a""#)
            let error = await #expect(throws: DocumentDecodingError.self) {
                try await bed.note("n1")
            }
            #expect(error?.description == "document '\(bed.id("n1"))': type must be \"note\", but is text")
        }
    }
}
