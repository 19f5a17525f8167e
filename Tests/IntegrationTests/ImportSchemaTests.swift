import Bots
import DocumentFlow
import EmbeddedGateway
import Foundation
import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing
import Transfer

/// Todo data is checked before anything is written, and written in the order in which access is granted.
@Suite(.limitedParallelism) struct ImportSchemaTests {
    private static func list(_ owner: String) -> String {
        #"{"_id":"\#(owner).l","type":"task-list","name":"L","owner":"\#(owner)"}"#
    }

    private static func task(_ number: Int, _ owner: String) -> String {
        #"{"_id":"t\#(number)","type":"task","task":"x","taskList":{"id":"\#(owner).l","owner":"\#(owner)"}}"#
    }

    private static func user(_ name: String, _ owner: String) -> String {
        #"{"_id":"\#(owner).l.\#(name)","type":"task-list.user","username":"\#(name)","#
            + #""taskList":{"id":"\#(owner).l","owner":"\#(owner)"}}"#
    }

    private static let moderator = #"{"_id":"moderator.amy","type":"moderator","username":"amy"}"#

    /// The types of all documents in the order in which they were written; consecutive equal types are listed once.
    private func typesInOrderOfWriting(_ bed: BotTestBed) async throws -> [String] {
        var types: [String] = []
        for id in try await bed.idsInOrderOfWriting() {
            let type = try await bed.stored(DocumentID(id))?.root["type"]?.string ?? "none"
            if type != types.last { types.append(type) }
        }
        return types
    }

    @Test(arguments: [3, 500]) func listsAreImportedBeforeTasksAndUsers(batch: Int) async throws {
        try await BotTestBed.withEmbedded { bed in
            var lines = (0..<20).flatMap { number in
                [Self.user("ben", "o\(number)"), Self.task(number, "o\(number)"), Self.list("o\(number)")]
            }
            lines.append(Self.moderator)
            let state = try await bed.load(lines: lines) { settings in
                settings.schema = .todo
                settings.batchDocuments = batch
            }
            #expect(state.counts == ImportCounts(inserted: 61), bed.rejectionReasons)
            #expect(state.counters.changes == 61)
            let types = try await typesInOrderOfWriting(bed)
            #expect(types == ["moderator", "task-list", "task", "task-list.user"])
        }
    }

    private static let wrong = [
        (3, #"{"_id":"ben.l","type":"task-list","name":"L","owner":"amy"}"#, "/_id"),
        (5, #"{"_id":"t9","type":"task","taskList":{"id":"amy.l","owner":"amy"}}"#, "/task"),
        (7, #"{"_id":"t8","type":"shopping"}"#, "/type"),
    ]

    private var validAndInvalidLines: [String] {
        var lines = [Self.task(1, "amy"), Self.task(2, "amy")]
        for (_, line, _) in Self.wrong { lines += [line, Self.user("u\(lines.count)", "amy")] }
        return lines + [Self.list("amy")]
    }

    @Test func invalidDocumentsAreReportedWithTheirLineAndTheRestIsWritten() async throws {
        try await BotTestBed.withEmbedded { bed in
            let state = try await bed.load(lines: validAndInvalidLines) { $0.schema = .todo }
            #expect(state.counts == ImportCounts(inserted: 6, rejected: 3), bed.rejectionReasons)
            let rejections = try bed.rejections()
            #expect(rejections.map(\.line) == Self.wrong.map(\.0))
            for (rejection, expected) in zip(rejections, Self.wrong) {
                #expect(rejection.reason.contains(expected.2), "\(rejection.reason)")
            }
            #expect(try bed.lines("rejects.ndjson") == Self.wrong.map(\.1))
        }
    }

    @Test func errorsAreReportedBeforeAnythingIsWritten() async throws {
        try await BotTestBed.withEmbedded { bed in
            let lines = validAndInvalidLines
            let failure = await #expect(throws: RunError.self) {
                try await bed.load(lines: lines) { settings in
                    settings.schema = .todo
                    settings.errorLimit = .count(2)
                    settings.batchDocuments = 1
                }
            }
            #expect(failure?.code == .tooManyErrors)
            let (contents, rejected) = (try await bed.contents(), try bed.lines("rejects.ndjson"))
            #expect(contents.isEmpty)
            #expect(rejected == Self.wrong.map(\.1))
        }
    }

    @Test func collectionNameIsTheType() async throws {
        let configure: (inout EmbeddedGateway.Configuration) -> Void = {
            $0.collections = ["_default._default", "_default.tasks", "_default.lists"]
        }
        try await BotTestBed.withEmbedded(configure, keyspace: "todo._default.tasks") { bed in
            let list = #""taskList":{"id":"amy.l","owner":"amy"}"#
            let lines = [
                #"{"_id":"a","task":"x",\#(list)}"#, #"{"_id":"b","type":"task","task":"x",\#(list)}"#,
                #"{"_id":"c","type":"task-list","task":"x",\#(list)}"#, #"{"_id":"amy.l","name":"L","owner":"amy"}"#,
            ]
            let state = try await bed.load(lines: lines) { $0.schema = .todo }
            #expect(state.counts == ImportCounts(inserted: 2, rejected: 2), bed.rejectionReasons)
            #expect(try bed.rejections().map(\.line) == [3, 4])
            #expect(try await bed.contents().keys.map(\.text).sorted() == ["a", "b"])
        }
    }

    // MARK: - Data of other apps

    private static func mapping(_ name: String, slurps: [String: [UInt8]] = [:]) async throws -> Mapping {
        let rules = URL(fileURLWithPath: BotTestBed.shippedRules).deletingLastPathComponent()
        return try await Mapping.load(paths: [rules.appendingPathComponent("maps/\(name).yaml").path], slurps: slurps)
    }

    /// The stored documents pass as todo data when they are imported elsewhere.
    private func expectTodoData(_ bed: BotTestBed, _ count: Int) async throws {
        try await bed.export("todo.ndjson")
        let lines = try bed.lines("todo.ndjson")
        #expect(lines.count == count)
        try await BotTestBed.withEmbedded { other in
            let state = try await other.load(lines: lines) { $0.schema = .todo }
            #expect(state.counts == ImportCounts(inserted: count), other.rejectionReasons)
        }
    }

    @Test(arguments: [false, true]) func taskTrackerIsImportedAsTodoData(tasksFirst: Bool) async throws {
        let (users, tasks) = (
            BotTestBed.asset("realm-users.ejson.ndjson"), BotTestBed.asset("realm-tasks.ejson.ndjson")
        )
        let list = users.split(separator: UInt8(ascii: "\n")).joined(separator: [UInt8(ascii: ",")])
        let mapping = try await Self.mapping(
            "realm-task", slurps: ["users": [UInt8(ascii: "[")] + list + [UInt8(ascii: "]")]])
        try await BotTestBed.withEmbedded { bed in
            try bed.write("in.ejson", bytes: tasksFirst ? tasks + users : users + tasks)
            let state = try await bed.load(file: "in.ejson") { settings in
                settings.format = .ejson
                settings.schema = .todo
                settings.mapping = mapping
                settings.batchDocuments = 2
            }
            #expect(state.counts == ImportCounts(inserted: 16), bed.rejectionReasons)
            let types = try await typesInOrderOfWriting(bed)
            #expect(types == ["task-list", "task", "task-list.user"])
            let amysList = try await bed.stored("amy@example.com.5f8a1aa7e4b0d1a2c3e4f501")
            #expect(amysList?.root["name"]?.string == "My Project")
            try await expectTodoData(bed, 16)
        }
    }

    /// If each kind has its own collection, the selector takes that kind from the mapping's output.
    @Test(arguments: [("task-list", 3), ("task", 10), ("task-list.user", 3), ("moderator", 0)])
    func selectorFiltersMappedDocuments(type: String, count: Int) async throws {
        let (users, tasks) = (
            BotTestBed.asset("realm-users.ejson.ndjson"), BotTestBed.asset("realm-tasks.ejson.ndjson")
        )
        let list = users.split(separator: UInt8(ascii: "\n")).joined(separator: [UInt8(ascii: ",")])
        let mapping = try await Self.mapping(
            "realm-task", slurps: ["users": [UInt8(ascii: "[")] + list + [UInt8(ascii: "]")]])
        let filter = try DocumentFilter(#"{"type":"\#(type)"}"#, name: "--selector")
        try await BotTestBed.withEmbedded { bed in
            try bed.write("in.ejson", bytes: users + tasks)
            let state = try await bed.load(file: "in.ejson") { settings in
                settings.format = .ejson
                settings.schema = .todo
                settings.mapping = mapping
                settings.filter = filter
            }
            #expect(state.counts == ImportCounts(inserted: count), bed.rejectionReasons)
            #expect(state.counters.changes == 13)
            #expect(try await bed.idsInOrderOfWriting().count == count)
            let types = try await typesInOrderOfWriting(bed)
            #expect(types == (count == 0 ? [] : [type]))
        }
    }

    @Test(arguments: [1, 500]) func atlasItemsAreImportedAsTodoData(batch: Int) async throws {
        let mapping = try await Self.mapping("atlas-item")
        try await BotTestBed.withEmbedded { bed in
            try bed.write("in.ejson", bytes: BotTestBed.asset("atlas-items.ejson.ndjson"))
            let configure: (inout ImportSettings) -> Void = { settings in
                settings.format = .ejson
                settings.schema = .todo
                settings.mapping = mapping
                settings.batchDocuments = batch
            }
            // Each item produces its owner's list: the first one is written, and the others cause no conflict.
            let state = try await bed.load(file: "in.ejson", configure: configure)
            #expect(state.counts.inserted == 15 && state.counts.rejected == 0, bed.rejectionReasons)
            let types = try await typesInOrderOfWriting(bed)
            #expect(types == ["task-list", "task"])
            try await expectTodoData(bed, 15)
        }
    }
}
