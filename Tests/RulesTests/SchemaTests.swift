import Foundation
import LosslessJSON
import Testing

@testable import Rules

@Suite struct SchemaTests {
    /// The schema that editors fetch, which is also embedded in the program.
    private static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "assets/rule-file.schema.json")

    private static func schema() throws -> JSONText { try JSONText(Array(try Data(contentsOf: file))) }

    /// The names of the members of the object at a place of the schema.
    private static func names(_ path: String...) throws -> Set<String> {
        let text = try schema()
        let object = try #require(path.reduce(text.root) { $0?[$1] }, "\(path)")
        return Set(object.members.compactMap { $0.name.string })
    }

    /// The known keys, according to the reader's error about an unknown key.
    private static func known(_ file: String) throws -> Set<String> {
        let error = try #require(errors(file).first { $0.contains("nown here: ") }, "\(errors(file))")
        let list = try #require(error.components(separatedBy: "nown here: ").last)
        return Set(list.components(separatedBy: ", "))
    }

    private static func rule(_ body: String) -> String { "version: 1\nrules:\n  - {name: a, \(body)}\n" }
    private static func test(_ body: String) -> String { "version: 1\nrules: []\ntests:\n  - {name: a, \(body)}\n" }

    @Test func schemaIsDraft07() throws {
        let schema = try Self.schema()
        #expect(schema.root["$schema"]?.string == "http://json-schema.org/draft-07/schema#")
        #expect(schema.root["type"]?.string == "object")
    }

    @Test func everyReferenceHasADefinition() throws {
        let definitions = try Self.names("definitions")
        let parts = try Self.schema().string.components(separatedBy: "\"$ref\": \"").dropFirst()
        let targets = Set(parts.map { String($0.prefix { $0 != "\"" }) })
        #expect(targets == Set(definitions.map { "#/definitions/" + $0 }))
    }

    @Test(arguments: [
        (["properties"], "more: 1\n"),
        (["definitions", "rule", "properties"], rule("more: 1, when: {}, then: []")),
        (["definitions", "attach", "properties"], rule("when: {}, then: [{attach: {more: 1}}]")),
        (["definitions", "put", "properties"], rule("when: {}, then: [{put: {more: 1}}]")),
        (["definitions", "emit", "properties"], rule("when: {}, then: [{emit: {more: 1}}]")),
        (
            ["definitions", "emit", "properties", "rotate", "properties"],
            rule("when: {}, then: [{emit: {file: a, rotate: {more: 1}}}]")
        ),
        (["definitions", "event", "properties"], rule("when: {}, then: [{emit: {file: a, event: {more: 1}}}]")),
        (["definitions", "related", "properties"], rule("when: {}, then: [{related: {more: 1}}]")),
        (["definitions", "webhook", "properties"], rule("when: {}, then: [{webhook: {more: 1}}]")),
        (
            ["definitions", "webhook", "properties", "response", "properties"],
            rule("when: {}, then: [{webhook: {url: 'http://h', response: {more: 1}}}]")
        ),
        (
            ["definitions", "webhook", "properties", "signature", "oneOf", "1", "properties"],
            rule("when: {}, then: [{webhook: {url: 'http://h', secret_files: s, signature: {more: 1}}}]")
        ),
        (["definitions", "aggregate", "properties"], rule("when: {}, then: [{aggregate: {more: 1}}]")),
        (["definitions", "resolution", "properties"], rule("when: {}, then: [{resolve: {more: 1}}]")),
        (["definitions", "test", "properties"], test("more: 1")),
        (["definitions", "expectation", "properties"], test("given: {}, expect: {more: 1}")),
        (["definitions", "expectedFile", "properties"], test("given: {}, expect: {attachments: {a: {more: 1}}}")),
    ])
    func schemaHasTheKeysOfTheReader(path: [String], file: String) throws {
        let text = try Self.schema()
        func at(_ path: some Sequence<String>) -> JSONValue? {
            path.reduce(text.root) { value, step in
                if let index = Int(step) { value?.elements.map(\.self)[index] } else { value?[step] }
            }
        }
        let object = try #require(at(path))
        #expect(Set(object.members.compactMap { $0.name.string }) == (try Self.known(file)))
        let owner = try #require(at(path.dropLast()))
        #expect(owner["additionalProperties"]?.kind == .false)
    }

    @Test func schemaHasAllActions() throws {
        let keys = Set(ActionRegistry.names + [RuleStep.elementsKey])
        #expect(try Self.names("definitions", "action", "properties") == keys)
    }

    @Test func schemaHasASnippetOfEachAction() throws {
        let snippets = try #require(try Self.schema().root["definitions"]?["action"]?["defaultSnippets"]).elements
        let actions = snippets.compactMap { $0["body"]?.members.first { _ in true }?.name.string }
        #expect(Set(actions) == Set(ActionRegistry.names))
    }

    /// The first column of its first table.
    @Test func actionsPageHasAllActions() throws {
        let page = Self.file.deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Sources/changebot/changebot.docc/Guide/Actions.md")
        let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
            .drop { !$0.hasPrefix("| action |") }.prefix { $0.hasPrefix("|") }.dropFirst(2)
        #expect(rows.map { $0.split(separator: "`")[1] }.sorted() == ActionRegistry.names.map { $0[...] }.sorted())
    }

    @Test func schemaHasAllOperators() throws {
        let known = Set(SelectorOperators.known)
        #expect(known.count > 20)
        #expect(try Self.names("definitions", "operators", "properties") == known)
        let outside: Set = ["$and", "$or", "$nor", "$not"]
        #expect(try Self.names("definitions", "selector", "properties") == outside)
    }

    @Test func schemaListsTheValuesOfOn() throws {
        let on = try Self.schema().root["definitions"]?["rule"]?["properties"]?["on"]
        let changes = try #require(on?["items"]?["enum"]).elements.compactMap { $0.string }
        #expect(changes.count == 4)
        #expect(errors(Self.rule("when: {}, on: [\(changes.joined(separator: ", "))], then: []")) == [])
    }

    @Test func schemaListsTheValuesOfIfExists() throws {
        let put = try Self.schema().root["definitions"]?["put"]?["properties"]
        let choices = try #require(put?["if_exists"]?["enum"]).elements.compactMap { $0.string }
        #expect(choices.count == 3)
        for choice in choices {
            let put = "{put: {id: x, document: {}, if_exists: \(choice)}}"
            #expect(errors(Self.rule("when: {}, then: [\(put)]")) == [])
        }
    }
}
