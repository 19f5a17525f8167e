import Foundation
import LosslessJSON
import Rules
import Testing
import TodoChecks

/// The maps in `rules/maps`, applied to the sample exports in `assets`.
@Suite struct ShippedMapsTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let maps = root.appending(path: "rules/maps").path

    /// The documents of an export, with Extended JSON converted to plain JSON.
    private func export(_ name: String) throws -> [JSONText] {
        let bytes = try Data(contentsOf: Self.root.appending(path: "assets/\(name).ejson.ndjson"))
        return try bytes.split(separator: UInt8(ascii: "\n")).map { line in
            let plain = Self.plain(try JSONSerialization.jsonObject(with: line))
            return try JSONText(Array(try JSONSerialization.data(withJSONObject: plain, options: .sortedKeys)))
        }
    }

    private static func plain(_ value: Any) -> Any {
        if let list = value as? [Any] { return list.map(plain) }
        guard let object = value as? [String: Any] else { return value }
        if object.count == 1, let text = object["$oid"] ?? object["$date"] { return text }
        return object.mapValues(plain)
    }

    private func list(_ documents: [JSONText]) -> [UInt8] {
        Array("[\(documents.map { String(decoding: $0.bytes, as: UTF8.self) }.joined(separator: ","))]".utf8)
    }

    private func map(
        _ documents: [JSONText], by name: String, slurps: [String: [UInt8]] = [:]
    ) async throws -> [MappedDocument] {
        let mapping = try await Mapping.load(paths: ["\(Self.maps)/\(name).yaml"], slurps: slurps)
        let results = await mapping.makeMapper().map(documents, now: 0)
        try #require(results.count == documents.count)
        for result in results { #expect(result.error == nil) }
        return results.flatMap(\.documents)
    }

    /// Checks that the training app and its sync function would accept all documents in the right order.
    private func expectTodoData(_ mapped: [MappedDocument]) {
        let values = mapped.map(\.document.root)
        for value in values {
            #expect(TodoSchema.check(value) == [], "\(String(decoding: value.bytes, as: UTF8.self))")
        }
        #expect(Set(mapped.map(\.id)).count == mapped.count)
        let lists = Set(zip(mapped, values).filter { $1["type"]?.string == "task-list" }.map(\.0.id))
        for value in values where value["taskList"] != nil {
            #expect(lists.contains(value["taskList"]?["id"]?.string ?? ""))
        }
    }

    private func kinds(_ mapped: [MappedDocument]) -> [String: Int] {
        mapped.reduce(into: [:]) { counts, output in counts[output.document.root["type"]?.string ?? "", default: 0] += 1
        }
    }

    @Test func shippedMapsPassTheirTestsAndChecks() async throws {
        let set = try RuleFileSet.load(paths: [Self.maps], kind: .mapping)
        #expect(set.fileCount == 5 && set.testCount > 20)
        #expect(set.warnings().map(\.description) == [])
        let results = await set.runTests(now: 0)
        #expect(results.count == set.testCount)
        #expect(results.filter { !$0.hasPassed }.map(\.name) == [])
    }

    @Test func atlasItemsBecomeTodoDataAndBack() async throws {
        let items = try export("atlas-items")
        let todo = try await map(items, by: "atlas-item")
        expectTodoData(todo)
        #expect(kinds(todo) == ["task-list": 3, "task": 12])
        let back = try await map(todo.map(\.document), by: "atlas-item-back")
        #expect(back.count == items.count)
        for (item, output) in zip(items, back) { #expect(item.root.isEquivalent(to: output.document.root)) }
    }

    @Test func atlasItemsBecomeTemplateAppItemsAndBack() async throws {
        let items = try export("atlas-items")
        let template = try await map(items, by: "atlas-item-to-template")
        for output in template {
            let value = output.document.root
            #expect(value["id"]?.string == output.id && value["ownerId"]?.string?.count == 24)
            #expect(value["isComplete"]?.bool != nil && value["summary"]?.string != nil && value["owner_id"] == nil)
        }
        let back = try await map(template.map(\.document), by: "atlas-item-back")
        #expect(back.count == items.count)
        for (item, output) in zip(items, back) { #expect(item.root.isEquivalent(to: output.document.root)) }
    }

    @Test func taskTrackerBecomesListsTasksAndListUsersAndBack() async throws {
        let (users, tasks) = (try export("realm-users"), try export("realm-tasks"))
        let todo = try await map(users + tasks, by: "realm-task", slurps: ["users": list(users)])
        expectTodoData(todo)
        #expect(kinds(todo) == ["task-list": 3, "task-list.user": 3, "task": 10])

        let documents = todo.map(\.document)
        let back = try await map(documents, by: "realm-task-back", slurps: ["todo": list(documents)])
        let byID = Dictionary(uniqueKeysWithValues: back.map { ($0.id, $0.document.root) })
        #expect(byID.count == users.count + tasks.count)
        for task in tasks {
            let found = try #require(byID[task.root["_id"]?.string ?? ""])
            #expect(found.isEquivalent(to: task.root), "\(String(decoding: found.bytes, as: UTF8.self))")
        }
        for user in users {
            let found = try #require(byID[user.root["_id"]?.string ?? ""])
            #expect(found["name"]?.string == user.root["name"]?.string)
            #expect(found["_partition"]?.string == user.root["_partition"]?.string)
            #expect(partitions(found) == partitions(user.root))
        }
    }

    private func partitions(_ user: JSONValue) -> Set<String> {
        Set(user["memberOf"]?.elements.compactMap { $0["partition"]?.string } ?? [])
    }
}
