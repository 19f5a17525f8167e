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

    /// The known keys, according to the reader's error about an unknown key. Nil if there is no such error.
    private static func known(_ file: String) -> Set<String>? {
        errors(file).first { $0.contains("nown here: ") }?.components(separatedBy: "nown here: ").last
            .map { Set($0.components(separatedBy: ", ")) }
    }

    /// The keys of the object that a schema describes, alone or as one of several forms. Empty if it has no fixed keys.
    private static func keys(_ schema: JSONValue, _ definitions: JSONValue) -> Set<String> {
        if let reference = schema["$ref"]?.string?.components(separatedBy: "/").last {
            return reference == "computed" ? [] : definitions[reference].map { keys($0, definitions) } ?? []
        }
        let isFixed = schema["additionalProperties"]?.kind == .false
        let own = isFixed ? schema["properties"]?.members.compactMap { $0.name.string } ?? [] : []
        let forms = ["oneOf", "anyOf"].compactMap { schema[$0] }.flatMap { $0.elements.map { keys($0, definitions) } }
        return forms.reduce(Set(own)) { $0.union($1) }
    }

    private static func lines(ofPage name: String) throws -> [Substring] {
        let page = file.deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Sources/changebot/changebot.docc/Guide/\(name).md")
        return try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
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
        (
            ["definitions", "emit", "properties", "rotate", "properties"],
            rule("when: {}, then: [{emit: {file: a, rotate: {more: 1}}}]")
        ),
        (["definitions", "event", "properties"], rule("when: {}, then: [{emit: {file: a, event: {more: 1}}}]")),
        (
            ["definitions", "webhook", "properties", "response", "properties"],
            rule("when: {}, then: [{webhook: {url: 'http://h', response: {more: 1}}}]")
        ),
        (
            ["definitions", "webhook", "properties", "signature", "oneOf", "1", "properties"],
            rule("when: {}, then: [{webhook: {url: 'http://h', secret_files: s, signature: {more: 1}}}]")
        ),
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
        #expect(Set(object.members.compactMap { $0.name.string }) == Self.known(file), "\(errors(file))")
        let owner = try #require(at(path.dropLast()))
        #expect(owner["additionalProperties"]?.kind == .false)
    }

    @Test func schemaHasAllActions() throws {
        let keys = Set(ActionRegistry.names + [RuleStep.elementsKey])
        #expect(try Self.names("definitions", "action", "properties") == keys)
    }

    @Test(arguments: ActionRegistry.names) func actionItsReaderAndTheSchemaHaveTheSameKeys(name: String) throws {
        let keys = Set(try #require(ActionRegistry.action(named: name)).keys)
        let file = Self.rule("when: {}, then: [{\(name): {unknownKey: 1}}]")
        #expect((Self.known(file) ?? []) == keys, "\(errors(file))")
        let definitions = try #require(try Self.schema().root["definitions"])
        let action = try #require(definitions["action"]?["properties"]?[name])
        #expect(Self.keys(action, definitions) == keys)
    }

    @Test func schemaHasASnippetOfEachAction() throws {
        let snippets = try #require(try Self.schema().root["definitions"]?["action"]?["defaultSnippets"]).elements
        let actions = snippets.compactMap { $0["body"]?.members.first { _ in true }?.name.string }
        #expect(Set(actions) == Set(ActionRegistry.names))
    }

    /// A snippet with the default of each place: `${1:name}`.
    @Test func eachSnippetIsAValidAction() throws {
        let snippets = try #require(try Self.schema().root["definitions"]?["action"]?["defaultSnippets"]).elements
        for snippet in snippets {
            let text = String(decoding: try #require(snippet["body"]).bytes, as: UTF8.self)
            let body = text.replacing(/\$\{\d+:((?:[^}\\]|\\.)*)\}/) { $0.1 }
                .replacing(#"\\$"#, with: "$")
            let file = #"{"version": 1, "rules": [{"name": "a", "when": {}, "then": [\#(body)]}]}"#
            let folder = Self.file.deletingLastPathComponent()
            #expect(errors(file, path: folder.appending(path: "r.json").path) == [], "\(body)")
        }
    }

    /// The first column of its first table.
    @Test func actionsPageHasAllActions() throws {
        let rows = try Self.lines(ofPage: "Actions").drop { !$0.hasPrefix("| action |") }.prefix { $0.hasPrefix("|") }
        let names = rows.dropFirst(2).map { $0.split(separator: "`")[1] }
        #expect(names.sorted() == ActionRegistry.names.map { $0[...] }.sorted())
    }

    /// The row of `then`.
    @Test func relatedDocumentsPageHasAllActionsOnThem() throws {
        let row = try #require(try Self.lines(ofPage: "RelatedDocuments").first { $0.hasPrefix("| `then` |") })
        let names = row.split(separator: "`").enumerated().filter { !$0.offset.isMultiple(of: 2) }.map(\.element)
        let allowed = ActionRegistry.all.filter { $0.isAllowedInRelated }.map { $0.name[...] }
        #expect(names.dropFirst().sorted() == allowed.sorted())
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
