import Foundation
import LosslessJSON
import TestKit
import Testing

@testable import Rules

/// Rules with jq programs, in real helper processes.
@Suite(.limitedParallelism) struct ComputedValueTests {
    private static let computed = [
        (#"merge: { jq: '{up: (.task | ascii_upcase)}' }"#, #"{"x":1,"task":"tea","up":"TEA"}"#),
        (
            #"merge: { up: { jq: '.task | ascii_upcase' }, in: { n: [1.10, { jq: .x }] } }"#,
            #"{"x":1,"task":"tea","up":"TEA","in":{"n":[1.10,1]}}"#
        ),
        (#"merge: { a: { jq: 'empty' }, b: 1, c: [{ jq: 'empty' }, 2] }"#, #"{"x":1,"task":"tea","b":1,"c":[2]}"#),
        (#"merge: { jq: 'empty' }"#, #"{"x":1,"task":"tea"}"#),
        (#"merge: { jq: 'null' }"#, #"{"x":1,"task":"tea"}"#),
        (#"merge: { jq: '.x = 1.0' }"#, #"{"x":1,"task":"tea"}"#),
        (#"merge: { at: { jq: '$now | todate' } }"#, #"{"x":1,"task":"tea","at":"2026-11-20T10:00:00Z"}"#),
        (
            #"merge: { change: { jq: '[$change]' } }"#,
            #"{"x":1,"task":"tea","change":[{"seq":null,"id":null,"rev":null,"deleted":false,"edge":null}]}"#
        ),
        (
            #"merge: { a: { jq: '.x', type: number }, b: { type: integer, jq: '.x' }, c: { jq: 'null', type: [string, null] }, d: { jq: empty, type: string } }"#,
            #"{"x":1,"task":"tea","a":1,"b":1}"#
        ),
        (#"merge: { jq: '{up: .task}', type: object }"#, #"{"x":1,"task":"tea","up":"tea"}"#),
        (#"patch: { jq: '[{op: "remove", path: "/task"}]' }"#, #"{"x":1}"#),
        (#"patch: [{ op: replace, path: /x, value: { jq: '.x + 1' } }]"#, #"{"x":2,"task":"tea"}"#),
    ]

    /// One rule for each action, all in one set because jq compiles slowly. The rule `r2` is for the type `t2`.
    private func oneSet(_ actions: [String]) throws -> RuleSet {
        try ruleSet(
            "version: 1\nrules:\n"
                + actions.enumerated().map { number, action in
                    "  - name: r\(number)\n    when: {type: t\(number), x: 1, task: tea}\n    then:\n      - \(action)\n"
                }.joined())
    }

    @Test func programsComputeValues() async throws {
        let set = try oneSet(Self.computed.map(\.0))
        for (number, (action, expected)) in Self.computed.enumerated() {
            let type = #""type":"t\#(number)""#
            let decision = try await set.decided(#"{\#(type),"x":1,"task":"tea"}"#, now: 1_795_168_800)
            #expect(decision.error == nil, "\(action)")
            #expect(decision.fired == [number], "\(action)")
            #expect(decision.document.string == "{\(type)," + expected.dropFirst(), "\(action)")
        }
    }

    /// With one program in its actions, the rule's name is enough.
    @Test func failureOfOneOfSeveralProgramsIsLocated() async throws {
        let set = try ruleSet(
            """
            version: 1
            rules:
              - name: a
                when: { type: a }
                then:
                  - merge: { b: { jq: '1' } }
                  - merge: { c: { jq: 'error("no")' }, d: { jq: '2' } }
              - name: b
                when: { type: b }
                then:
                  - merge: { b: { jq: '1' } }
                  - merge: { jq: '3' }
              - name: c
                when: { type: c }
                then:
                  - for_each: '1, 2'
                    merge: { c: { jq: '.x | error("x")' } }

            """)
        var errors: [String?] = []
        for type in ["a", "b", "c"] {
            errors.append(try await set.decided(#"{"type":"\#(type)","x":1}"#).error?.description)
        }
        #expect(errors[0]?.hasSuffix("merge: the program fails: no (rules.yaml:7:27)") == true, "\(errors)")
        #expect(errors[1]?.hasSuffix("the program gives 3 (rules.yaml:12:22)") == true, "\(errors)")
        #expect(errors[2]?.hasSuffix("the program fails: x (rules.yaml:17:27)") == true, "\(errors)")
    }

    private static let failing = [
        (#"merge: { jq: '1' }"#, "merge takes an object; the program gives 1"),
        (#"merge: { jq: '{}, {}' }"#, "merge: the program gives 2 values, not one"),
        (#"merge: { a: { jq: '1, 2' } }"#, "a program inside a value gives 2 values"),
        (
            #"merge: { jq: '{_rev: "2-b"}' }"#,
            "merge can't touch '_rev'; remove it from the result with del(._rev)"
        ),
        (#"merge: { jq: '{a: error("no")}' }"#, "merge: the program fails: no"),
        (#"merge: { jq: '{a: .big}' }"#, "which jq can't hold exactly"),
        (#"merge: { jq: '{a: $ENV.HOME}' }"#, "environment"),
        (#"patch: { jq: '[{op: "replace", path: "/_id", value: "y"}]' }"#, "patch can't touch '_id'"),
        (#"patch: { jq: '{}' }"#, "a JSON Patch is a list"),
        (
            #"merge: { total: { jq: '.task + .task', type: number } }"#,
            #"'total' must be a number; the program gives "teatea""#
        ),
        (
            #"merge: { a: [1, { b: { jq: '.x / 2', type: integer } }] }"#,
            "'a[1].b' must be an integer; the program gives 0.5"
        ),
        (#"merge: { a: { jq: 'null', type: [string, array] } }"#, "'a' must be text or a list; the program gives null"),
        (#"merge: { jq: '[1]', type: object }"#, "the result must be an object; the program gives [1]"),
        (#"patch: [{ op: add, path: /y, value: { jq: '.task', type: boolean } }]"#, "must be true or false"),
        (#"put: { id: y, document: { n: { jq: '.task', type: number } } }"#, "'n' must be a number"),
        (#"detach: { name: { jq: '1' } }"#, "must be text and not empty; the program gives 1"),
        (#"put: { id: { jq: '""' }, document: {} }"#, "must be text and not empty"),
        (#"put: { document: { jq: '{a: 1}' } }"#, "neither the rule's 'id' nor the document's '_id'"),
        (#"put: { document: { jq: '{_id: "y", _rev: "1-a"}' } }"#, "put can't set '_rev'"),
        (#"put: { document: { jq: '"text"' } }"#, #"put takes an object; the program gives "text""#),
    ]

    @Test func invalidResultsDeadLetterTheDocument() async throws {
        let set = try oneSet(Self.failing.map(\.0))
        for (number, (action, reason)) in Self.failing.enumerated() {
            let members = #""type":"t\#(number)","task":"tea","x":1,"big":12345678901234567890"#
            let decision = try await set.decided(#"{"_id":"d","_rev":"1-a",\#(members)}"#)
            #expect(decision.error?.rule == "r\(number)", "\(action)")
            #expect(decision.error?.reason.contains(reason) == true, "\(decision.error?.reason ?? "no error")")
            #expect(!decision.isChanged, "\(action)")
        }
    }

    @Test func programMayReturnTheWholeDocumentUnchanged() async throws {
        let set = try ruleSet(lines: "name: a, when: {}, then: [merge: {jq: '.task |= ascii_downcase'}]")
        let document = #"{"_id":"d","_rev":"1-a" ,"n":1.10,"task":"TEA","_attachments":{"i":{"stub":true}}}"#
        let decision = try await set.decided(document)
        #expect(decision.error == nil)
        #expect(decision.document.string == document.replacing("TEA", with: "tea"))
    }

    @Test(arguments: [
        ("'.a > .b'", #"{"a":2,"b":1}"#, true), ("'.a > .b'", #"{"a":1,"b":1}"#, false),
        ("{jq: empty}", #"{"a":1}"#, false), ("'.a'", #"{"a":null}"#, false), ("'.a'", #"{"a":0}"#, true),
    ])
    func ifFollowsJQTruth(condition: String, document: String, fires: Bool) async throws {
        let set = try ruleSet(lines: "name: a, when: {}, if: \(condition), then: []")
        #expect(try await set.decided(document).fired == (fires ? [0] : []))
        let explained = await set.explain(DecisionInput(try JSONText(document)), now: 0).rules
        #expect(explained.map(\.outcome) == [fires ? .fires : .doesNotFire])
    }

    @Test func failingIfDeadLettersTheDocument() async throws {
        let set = try ruleSet(
            lines: "name: a, when: {}, if: '.a.b', then: []", "name: b, when: {}, if: '1, 2', then: []")
        #expect(
            try await set.decided(#"{"a":1}"#).error?.description.hasPrefix("rule 'a': if: the program fails: ") == true
        )
        #expect(try await set.decided("{}").error?.description == "rule 'b': if: the program gives 2 values, not one")
    }

    @Test func matchHoldsNamedGroups() async throws {
        let set = try ruleSet(
            """
            version: 1
            rules:
              - name: a
                when:
                  task: { $regex: "^(?<count>[0-9]+) (?<what>.*?)(?<unit> kg)?$" }
                  $or: [{ type: { $regex: "^(?<type>t)" } }, { type: list }]
                then:
                  - merge: { jq: '{match: [$match]}' }
            """)
        let decision = try await set.decided(#"{"task":"3 \"apples\"","type":"task"}"#)
        #expect(
            decision.document.root["match"]?.isEquivalent(
                to: try JSONText(#"[{"count":"3","what":"\"apples\"","unit":null,"type":"t"}]"#).root) == true,
            "\(decision.document.string)")
    }

    @Test func laterRulesAndPassesSeeComputedValues() async throws {
        let set = try ruleSet(
            lines: "name: up, when: {n: {$lt: 4}}, then: [merge: {jq: '{n: (.n + 1)}'}, merge: {m: {jq: .n}}]")
        let decision = try await set.decided(#"{"n":1}"#)
        #expect(decision.document.string == #"{"n":4,"m":4}"#)
        #expect(try await set.decided(#"{"n":-9}"#).error?.reason == "rule loop: up")
    }

    @Test func manyDocumentsAreDecidedConcurrently() async throws {
        let set = try ruleSet(
            lines: "name: a, when: {n: {$mod: [2, 0]}}, if: '.n % 4 == 0', then: [merge: {half: {jq: '.n / 2'}}]",
            "name: bad, when: {n: 7}, then: [merge: {jq: error}]")
        let inputs = try (0..<50).map { DecisionInput(try JSONText(#"{"n":\#($0)}"#)) }
        let decisions = await set.makeDecider().decide(on: inputs, now: 0)
        for (n, decision) in decisions.enumerated() {
            #expect((decision.error != nil) == (n == 7))
            #expect(decision.document.string == (n % 4 == 0 ? #"{"n":\#(n),"half":\#(n / 2)}"# : #"{"n":\#(n)}"#))
        }
    }

    @Test func putWritesEachOutput() async throws {
        let set = try ruleSet(
            lines: "name: a, when: {}, then: [put: {document: {jq: '.users[] | {_id: (\"user.\" + .), name: .}'}}]",
            "name: b, when: {}, then: [put: {id: {jq: '\"log.\" + ._id'}, document: {of: {jq: ._id}}}]",
            "name: none, when: {}, then: [put: {id: {jq: empty}, document: {}}, detach: {name: {jq: 'null'}}]")
        let decision = try await set.decided(#"{"_id":"l","users":["amy","bob"]}"#)
        #expect(decision.error == nil)
        #expect(
            decision.puts.map(\.document.string) == [
                #"{"_id":"user.amy","name":"amy"}"#, #"{"_id":"user.bob","name":"bob"}"#,
                #"{"of":"l","_id":"log.l"}"#,
            ])
    }

    @Test func uncompilableProgramsAreErrorsOfTheFile() {
        let text = """
            version: 1
            rules:
              - { name: a, when: {}, if: '.a ==', then: [] }
              - { name: b, when: {}, then: [{ merge: { x: { jq: 'nonsense(1)' } } }] }
              - { name: c, when: {}, then: [{ merge: { x: { jq: 'import "a" as a; 1' } } }] }
              - { name: d, when: {}, if: '1) , (2', then: [] }
              - { name: e, when: {}, if: '.a', then: [] }
            """
        let found = errors(text)
        #expect(
            found.map { $0.prefix(while: { $0 != " " }) } == [
                "r.yaml:3:36:", "r.yaml:4:54:", "r.yaml:5:53:", "r.yaml:6:32:",
            ])
        #expect(found.allSatisfy { $0.contains("not a jq program: ") && $0.contains("; ") }, "\(found)")
    }
}

/// Files that documents choose.
@Suite(.limitedParallelism) struct ChosenFileTests {
    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "files-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder + "/in/sub", withIntermediateDirectories: true)
        for name in ["secret.txt", "in/apple.txt", "in/sub/pear.png"] {
            try Data(name.utf8).write(to: URL(fileURLWithPath: folder + "/" + name))
        }
        try FileManager.default.createSymbolicLink(
            atPath: folder + "/in/link.txt", withDestinationPath: folder + "/secret.txt")
        try await body(folder)
    }

    private func set(_ folder: String, more: String = "") throws -> RuleSet {
        try ruleSet(
            lines:
                "name: a, when: {}, then: [attach: {name: note, folder: '\(folder)/in', file: {jq: .file}\(more)}]")
    }

    @Test func programChoosesTheFile() async throws {
        try await withFolder { folder in
            let set = try set(folder)
            let apple = try await set.decided(#"{"file":"apple.txt"}"#)
            #expect(apple.error == nil)
            #expect(apple.attachments["note"]?.contentType == "text/plain")
            #expect(apple.attachments["note"]?.content.length == 12)
            let pear = try await set.decided(#"{"file":"sub/pear.png"}"#)
            #expect(pear.attachments["note"]?.contentType == "image/png")
            for nothing in ["{}", #"{"file":null}"#] {
                let decision = try await set.decided(nothing)
                #expect(decision.error == nil && !decision.isChanged)
            }
            let typed = try await self.set(folder, more: ", content_type: {jq: '\"a/\" + \"b\"'}")
                .decided(#"{"file":"apple.txt"}"#)
            #expect(typed.attachments["note"]?.contentType == "a/b")
        }
    }

    @Test(arguments: [
        "../secret.txt", "sub/../../secret.txt", "/etc/passwd", "link.txt", "none.txt", "sub", "apple.txt\\u0000.png",
        ".",
    ])
    func filesOutsideTheFolderAreRefused(file: String) async throws {
        try await withFolder { folder in
            let decision = try await set(folder).decided(#"{"file":"\#(file)"}"#)
            #expect(decision.error?.rule == "a")
            #expect(decision.attachments.isEmpty && !decision.isChanged)
        }
    }

    @Test func changedFileIsReadAgain() async throws {
        try await withFolder { folder in
            let set = try set(folder)
            _ = try await set.decided(#"{"file":"apple.txt"}"#)
            try Data("a new apple".utf8).write(to: URL(fileURLWithPath: folder + "/in/apple.txt"))
            #expect(try await set.decided(#"{"file":"apple.txt"}"#).attachments["note"]?.content.length == 11)
        }
    }

    @Test func filesOfTheFolderAffectTheHash() async throws {
        try await withFolder { folder in
            let before = try set(folder).hash
            #expect(try set(folder).hash == before)
            try Data("more".utf8).write(to: URL(fileURLWithPath: folder + "/in/sub/more.txt"))
            #expect(try set(folder).hash != before)
        }
    }
}
