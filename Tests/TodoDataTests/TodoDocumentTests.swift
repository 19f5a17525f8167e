import Foundation
import GatewayClient
import LosslessJSON
import Testing
import TodoChecks
import TodoData
import TypedDocuments

/// Swift Testing also has a type of this name.
private typealias Attachment = TypedDocuments.Attachment

/// The to-do documents as Swift types.
@Suite struct TodoDocumentTests {
    private func read<Document: DocumentCodable>(_ type: Document.Type, _ text: String) throws -> Document {
        try DocumentDecoder().decode(type, from: JSONText(text).root)
    }

    private func text(_ document: some DocumentCodable) throws -> String {
        String(decoding: try document.documentText().bytes, as: UTF8.self)
    }

    private static let list = TaskList(name: "Groceries", owner: "amy", key: "l")

    @Test func newDocumentsAreValid() throws {
        let task = TodoTask(
            "Eggs", in: Self.list, id: "t", createdAt: Date(timeIntervalSince1970: 0),
            image: Attachment([1], contentType: "image/png"))
        let documents: [(any TodoDocument, String)] = [
            (Self.list, #"{"name":"Groceries","owner":"amy","_id":"amy.l","type":"task-list"}"#),
            (
                task,
                #"{"task":"Eggs","complete":false,"createdAt":"1970-01-01T00:00:00.000Z","#
                    + #""taskList":{"id":"amy.l","owner":"amy"},"_id":"t","type":"task"}"#
            ),
            (
                TaskListUser("ben", of: Self.list),
                #"{"taskList":{"id":"amy.l","owner":"amy"},"username":"ben","_id":"amy.l.ben","type":"task-list.user"}"#
            ),
            (Moderator("dora"), #"{"username":"dora","_id":"moderator.dora","type":"moderator"}"#),
            (
                Item("Eggs", owner: "u1", id: "i"),
                #"{"id":"i","summary":"Eggs","isComplete":false,"ownerId":"u1","_id":"i"}"#
            ),
        ]
        for (document, expected) in documents {
            try document.validate()
            #expect(try text(document) == expected)
        }
    }

    @Test(arguments: [
        #"{"_id":"t","_rev":"1-a","type":"task","task":"Eggs","n":1.10,"taskList":{"id":"amy.l","owner":"amy","x":1}}"#,
        #"{"_id":"t","task":"Eggs","createdAt":"2026-11-20T10:00:00Z","taskList":{"owner":"amy","id":"amy.l"}}"#,
    ])
    func taskKeepsItsBytes(_ document: String) throws {
        var task = try read(TodoTask.self, document)
        try task.validate()
        #expect(try text(task) == document)
        #expect(!task.complete && task.owner == "amy")
        task.task = "Milk"
        #expect(try text(task) == document.replacing("Eggs", with: "Milk"))
    }

    @Test(arguments: [
        (#"{"_id":"i","isComplete":false,"owner_id":"u1","summary":"a"}"#),
        (#"{"_id":"i","id":"i","isComplete":false,"ownerId":"u1","summary":"a"}"#),
    ])
    func itemKeepsItsShape(_ document: String) throws {
        var item = try read(Item.self, document)
        item.isComplete = true
        #expect(try text(item) == document.replacing("false", with: "true"))
        #expect(item.owner == "u1")
    }

    /// Couchbase Lite writes blobs in this form.
    @Test func blobIsImage() throws {
        let document = #"""
            {"_id":"t","_rev":"1-a","task":"Eggs","taskList":{"id":"amy.l","owner":"amy"},
             "image":{"@type":"blob","content_type":"image/png","digest":"sha1-x","length":3},
             "_attachments":{"blob_/image":{"content_type":"image/png","digest":"sha1-x","length":3,"stub":true}}}
            """#
        var task = try read(TodoTask.self, document)
        #expect(task.image?.contentType == "image/png" && task.image?.byteCount == 3)
        #expect(try text(task) == document)
        task.image = Attachment([1, 2, 3], contentType: "image/gif")
        let replaced = try JSONText(text(task)).root["image"]
        #expect(replaced?["@type"]?.string == "blob" && replaced?["content_type"]?.string == "image/gif")
        #expect(replaced?["digest"]?.string == "sha1-cDeAcZjCKn0rCAc3HXY3eahP388=")
        task.image = nil
        let removed = try JSONText(text(task)).root
        #expect(removed["image"] == nil && removed["_attachments"]?.childCount == 0)
    }

    @Test func documentsRefusedBySyncFunctionAreInvalid() throws {
        let task = try read(TodoTask.self, #"{"_id":"t","task":"","taskList":{"id":"ben.l","owner":"amy"}}"#)
        let error = #expect(throws: TodoDocumentError.self) { try task.validate() }
        #expect(
            error?.description
                == #"the document 't' is not valid: /taskList/id must begin with the owner and a dot, "amy."; /task is empty"#
        )
        var list = Self.list
        list.origin = DocumentOrigin("ben.l")
        #expect(throws: TodoDocumentError.self) { try list.validate() }
        #expect(throws: TodoDocumentError.self) { try Item("", owner: "u1").validate() }
    }

    @Test func documentOfOtherUserIsRefused() throws {
        try Self.list.requireOwner("amy")
        let error = #expect(throws: OwnershipError.self) { try Self.list.requireOwner("ben") }
        #expect(error?.description == "the document 'amy.l' belongs to 'amy', not to 'ben'")
        // A document without an owner does not belong to a user with an empty name.
        let ownerless = try read(TodoTask.self, #"{"_id":"t","task":"a","taskList":{"id":"amy.l"}}"#)
        #expect(throws: OwnershipError.self) { try ownerless.requireOwner("") }
        // Canonically equivalent names are two users.
        let list = TaskList(name: "x", owner: "é", key: "l")
        #expect(throws: OwnershipError.self) { try list.requireOwner("e\u{301}") }
    }

    @Test func eachTypeHasConflictPolicy() {
        #expect(TodoTask.conflictPolicy == .merge)
        #expect(
            [TaskList.conflictPolicy, TaskListUser.conflictPolicy, Moderator.conflictPolicy] == [
                .deletesWin, .deletesWin, .deletesWin,
            ])
        #expect(Item.conflictPolicy == .deletesWin)
    }

    @Test func referenceKeepsItsForm() throws {
        struct Page: DocumentCodable {
            var origin = DocumentOrigin()
            var next: Reference<Page>
        }
        for document in [#"{"_id":"a","next":"b"}"#, #"{"_id":"a","next":{"id":"b","x":1}}"#] {
            var page = try read(Page.self, document)
            #expect(page.next.id == "b")
            page.next.id = "c"
            #expect(try text(page) == document.replacing("\"b\"", with: "\"c\""))
        }
    }
}
