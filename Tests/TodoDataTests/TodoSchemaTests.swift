import LosslessJSON
import Testing

@testable import TodoChecks

@Suite struct TodoSchemaTests {
    private static let list = #""taskList":{"id":"amy.l","owner":"amy"}"#

    private func violations(
        _ document: String, in collection: String? = nil, hasAttachments: Bool = false
    ) throws -> [String] {
        TodoSchema.check(try JSONText(document).root, collection: collection, hasAttachments: hasAttachments)
            .map(\.description)
    }

    private static let sha1 = "sha1-9XLTlvrpIGYocU+yzgD3LpTyJY8="
    private static let blob = #"{"@type":"blob","content_type":"image/png","digest":"\#(sha1)","length":6}"#

    /// The training app stores a task's picture as a Couchbase Lite blob.
    @Test(arguments: [
        ("BLOB", #""blob_/image":{"digest":"SHA1","length":6,"stub":true}"#, []),
        ("BLOB", #""blob_/image":{"digest":"md5-x","length":6,"stub":true}"#, []),
        ("BLOB", #""blob_/image":{"data":"aGVsbG8K"}"#, []), ("BLOB", #""other":{"digest":"SHA1"}"#, []),
        ("null", "", []),
        ("BLOB", "", ["/image has no attachment 'blob_/image'"]),
        ("BLOB", #""image":{"digest":"sha1-x"}"#, ["/image has no attachment 'blob_/image'"]),
        (
            "BLOB", #""blob_/image":{"digest":"sha1-x"}"#,
            ["/image/digest must be the digest of the attachment 'blob_/image', sha1-x"]
        ),
        ("7", "", [#"/image must be a Couchbase Lite blob, {"@type":"blob",…}"#]),
        (#"{"content_type":"image/png"}"#, "", [#"/image must be a Couchbase Lite blob, {"@type":"blob",…}"#]),
        (
            #"{"@type":"blob","digest":"md5-x","length":"6","content_type":1}"#, #""blob_/image":{}"#,
            [
                "/image/digest must be sha1- followed by the picture's SHA-1 in base64",
                "/image/length must be a number of bytes", "/image/content_type must be text",
            ]
        ),
    ])
    func taskImageIsBlob(image: String, attachments: String, expected: [String]) throws {
        let text =
            #"{"_id":"t","type":"task","task":"Eggs",\#(Self.list),"image":\#(image),"#
            + #""_attachments":{\#(attachments)}}"#
        let document = text.replacing("BLOB", with: Self.blob).replacing("SHA1", with: Self.sha1)
        #expect(try violations(document, hasAttachments: true) == expected)
        // A value of the Swift API does not include its attachments.
        let alone = try violations(document)
        #expect(alone == expected.filter { !$0.contains("attachment") })
    }

    @Test(arguments: [
        (#"{"_id":"moderator.dora","type":"moderator","username":"dora"}"#, nil),
        (#"{"_id":"amy.l","type":"task-list","name":"Groceries","owner":"amy"}"#, nil),
        (#"{"_id":"amy.l","name":"Groceries","owner":"amy"}"#, "lists"),
        (#"{"_id":"a.b.l","type":"task-list","name":"x","owner":"a.b"}"#, nil),
        (
            #"{"_id":"t","type":"task","task":"Eggs","complete":false,"createdAt":"2026-11-20T08:18:05.781Z",\#(list)}"#,
            nil
        ),
        // Not required by the sync function.
        (#"{"_id":"t","type":"task","task":"Eggs",\#(list)}"#, nil),
        (#"{"_id":"t","task":"Eggs",\#(list)}"#, "tasks"),
        (#"{"_id":"t","type":"task","task":"Eggs",\#(list)}"#, "tasks"),
        (#"{"_id":"amy.l.ben","type":"task-list.user","username":"ben",\#(list)}"#, nil),
        (#"{"_id":"amy.l.ben","username":"ben",\#(list)}"#, "users"),
        (#"{"_id":"moderator.dora","username":"dora"}"#, "moderators"),
        (#"{"_id":"x","_deleted":true}"#, nil), (#"{"_id":"x","_deleted":true}"#, "tasks"),
        // Unchecked members, and escapes.
        (#"{"_id":"amy.\u006c","type":"\u0074ask-list","name":"\n","owner":"a\u006dy","n":12345678901234567890}"#, nil),
        // Other collections do not determine a kind.
        (#"{"_id":"amy.l","type":"task-list","name":"Groceries","owner":"amy"}"#, "other"),
    ])
    func validDocumentsAreAccepted(document: String, collection: String?) throws {
        #expect(try violations(document, in: collection) == [])
    }

    @Test(arguments: [
        ("[]", nil, ["the document must be an object"]), ("7", "tasks", ["the document must be an object"]),
        (
            "{}", nil,
            [
                "/_id is missing",
                #"/type is missing; it must be one of "moderator", "task-list", "task", "task-list.user""#,
            ]
        ),
        (
            #"{"_id":"x","type":"list"}"#, nil,
            [#"/type must be one of "moderator", "task-list", "task", "task-list.user""#]
        ),
        (
            #"{"_id":"x","type":["task"]}"#, nil,
            [#"/type must be one of "moderator", "task-list", "task", "task-list.user""#]
        ),
        (
            #"{"_id":"amy.l","type":"task","name":"x","owner":"amy"}"#, "lists",
            ["/type must be omitted: this collection contains task lists"]
        ),
        (#"{"type":"task-list"}"#, nil, ["/_id is missing", "/name is missing", "/owner is missing"]),
        (
            #"{"_id":7,"type":"task-list","name":"","owner":[]}"#, nil,
            ["/_id must be text", "/name is empty", "/owner must be text"]
        ),
        (
            #"{"_id":"ben.l","type":"task-list","name":"x","owner":"amy"}"#, nil,
            [#"/_id must begin with the owner and a dot, "amy.""#]
        ),
        (
            #"{"_id":"amyl","name":"x","owner":"amy"}"#, "lists",
            [#"/_id must begin with the owner and a dot, "amy.""#]
        ),
        (#"{"_id":"t","type":"task"}"#, nil, ["/taskList is missing", "/task is missing"]),
        (
            #"{"_id":"t","type":"task","task":"x","taskList":"amy.l"}"#, nil,
            ["/taskList must be an object with id and owner"]
        ),
        (
            #"{"_id":"t","type":"task","task":"x","taskList":{}}"#, nil,
            ["/taskList/id is missing", "/taskList/owner is missing"]
        ),
        (
            #"{"_id":"t","type":"task","task":"x","taskList":{"id":"ben.l","owner":"amy"}}"#, nil,
            [#"/taskList/id must begin with the owner and a dot, "amy.""#]
        ),
        (#"{"_id":"t","type":"task","task":"x","complete":"no",\#(list)}"#, nil, ["/complete must be true or false"]),
        (
            #"{"_id":"t","type":"task","task":"x","createdAt":"yesterday",\#(list)}"#, nil,
            [#"/createdAt must be a time such as "2026-11-20T10:00:00.000Z""#]
        ),
        (
            #"{"_id":"t","type":"task","task":"x","createdAt":1795169700,\#(list)}"#, nil,
            [#"/createdAt must be a time such as "2026-11-20T10:00:00.000Z""#]
        ),
        (
            #"{"_id":"amy.l.carla","type":"task-list.user","username":"ben",\#(list)}"#, nil,
            [#"/_id must be taskList.id, a dot and username, "amy.l.ben""#]
        ),
        (#"{"_id":"amy.l.ben",\#(list)}"#, "users", ["/username is missing"]),
        (
            #"{"_id":"moderator.amy","type":"moderator","username":"dora"}"#, nil,
            [#"/_id must be moderator, a dot and username, "moderator.dora""#]
        ),
        // Canonically equivalent texts.
        (
            #"{"_id":"jose\u0301.l","type":"task-list","name":"x","owner":"jos\u00e9"}"#, nil,
            ["/_id must begin with the owner and a dot, \"jos\u{e9}.\""]
        ),
    ])
    func violationsAreReported(document: String, collection: String?, expected: [String]) throws {
        #expect(try violations(document, in: collection) == expected)
    }

    @Test func eachAppCollectionHasKind() {
        let kinds = ["lists", "tasks", "users", "moderators", "_default", "Lists", nil].map(TodoKind.init(collection:))
        #expect(kinds == [.taskList, .task, .listUser, .moderator, nil, nil, nil])
    }

    @Test func listsPrecedeTasksAndTasksPrecedeUsers() throws {
        let documents = [
            #"{"type":"task-list.user"}"#, #"{"_deleted":true,"type":"task-list"}"#, #"{"type":"task"}"#, "7",
            #"{"type":"task-list"}"#, #"{"type":"moderator"}"#, "{}",
        ]
        let orders = try documents.map { TodoSchema.order(try JSONText($0).root) }
        #expect(orders == [3, 4, 2, 4, 1, 0, 4])
        #expect(orders.allSatisfy { $0 < TodoSchema.orderCount })
        #expect(TodoSchema.order(try JSONText("{}").root, collection: "tasks") == 2)
    }

    @Test func hugeAndDeepDocumentsAreChecked() throws {
        let deep = String(repeating: "[", count: 9_000) + String(repeating: "]", count: 9_000)
        #expect(try violations(#"{"_id":"t","type":"task","task":\#(deep),"taskList":\#(deep)}"#).count == 2)
        let long = String(repeating: "\\u0000", count: 200_000)
        let found = try violations(#"{"_id":"x","type":"moderator","username":"\#(long)"}"#)
        #expect(found.count == 1 && found[0].utf8.count < 2_000)
    }

    @Test(arguments: [
        ("2026-11-20T10:00:00Z", true), ("2026-11-20T10:00:00.5+01:00", true), ("2024-02-29T23:59:59.999Z", true),
        ("0000-01-01T00:00:00-23:59", true), ("2026-02-29T10:00:00Z", false), ("2026-11-31T10:00:00Z", false),
        ("2026-13-01T10:00:00Z", false), ("2026-00-01T10:00:00Z", false), ("2026-11-20T24:00:00Z", false),
        ("2026-11-20T10:60:00Z", false), ("2026-11-20T10:00:60Z", false), ("2026-11-20T10:00:00", false),
        ("2026-11-20 10:00:00Z", false), ("2026-11-20", false), ("2026-11-20T10:00:00.Z", false),
        ("2026-11-20T10:00:00+0100", false), ("2026-11-20T10:00:00+24:00", false), ("2026-11-20T10:00:00Zx", false),
        ("20261120T100000Z", false), ("２026-11-20T10:00:00Z", false), ("", false),
    ])
    func timesAreChecked(text: String, isTime: Bool) { #expect(ISOTime.isTime(Array(text.utf8)) == isTime) }
}
