import LosslessJSON
import TestKit
import Testing

@testable import Rules

@Suite(.limitedParallelism) struct ActionTests {
    private static let picture = #""_attachments":{"image":{"digest":"sha1-AAA=","stub":true}}"#

    @Test(arguments: [
        (#"{"x":1,\#(picture)}"#, #"{"x":1}"#),
        (#"{"x":1,"_attachments":{"a":{},"image":{} , "b":{}}}"#, #"{"x":1,"_attachments":{"a":{} , "b":{}}}"#),
        (#"{"x":1,"_attachments":{"b":{}}}"#, #"{"x":1,"_attachments":{"b":{}}}"#),
        (#"{"x":1}"#, #"{"x":1}"#),
        (#"{"x":1,"_attachments":[]}"#, #"{"x":1,"_attachments":[]}"#),
    ])
    func detachRemovesOneAttachment(document: String, expected: String) throws {
        for action in ["detach: image", "detach: {name: image}"] {
            let decision = try ruleSet(lines: "name: a, when: {x: 1}, then: [\(action)]").decide(document)
            #expect(decision.error == nil)
            #expect(decision.document.string == expected)
            #expect(decision.isChanged == (document != expected))
        }
    }

    @Test func patchChangesOnlyNamedMembers() throws {
        let set = try ruleSet(
            """
            version: 1
            rules:
              - name: a
                when: {kind: old}
                then:
                  - patch:
                      - { op: test, path: /n, value: 1.1 }
                      - { op: replace, path: /kind, value: new }
                      - { op: add, path: /tags/-, value: 12345678901234567890123 }
                      - { op: move, from: /a~1b, path: /c }
                      - { op: remove, path: /_attachments/old }
            """)
        let decision = try set.decide(
            #"{ "kind":"old", "n" : 1.10, "tags":["x"],"a/b":[ 1.00 ],"_attachments":{"old":{},"new":{}}}"#)
        #expect(decision.error == nil)
        #expect(
            decision.document.string
                == #"{ "kind":"new", "n" : 1.10, "tags":["x",12345678901234567890123],"_attachments":{"new":{}},"c":[ 1.00 ]}"#
        )
    }

    @Test func failedPatchTestPreventsFiring() throws {
        let set = try ruleSet(
            """
            version: 1
            rules:
              - name: whole
                when: {x: 1}
                then:
                  - merge: { half: done }
                  - patch: [{ op: add, path: /y, value: 2 }, { op: test, path: /z, value: 3 }]
              - { name: other, when: { x: 1 }, then: [] }
            """)
        let decision = try set.decide(#"{"x":1,"z":4}"#)
        #expect(decision.fired == [1])
        #expect(decision.error == nil)
        #expect(!decision.isChanged)
        #expect(try set.decide(#"{"x":1,"z":3}"#).document.string == #"{"x":1,"z":3,"half":"done","y":2}"#)
    }

    @Test(arguments: [
        ("[{ op: remove, path: /none }]", "the path '/none' does not exist in the document"),
        ("[{ op: replace, path: /x/0, value: 1 }]", "the path '/x/0' does not exist in the document"),
    ])
    func otherPatchErrorsDeadLetterTheDocument(patch: String, reason: String) throws {
        let decision = try ruleSet(lines: "name: a, when: {x: 1}, then: [patch: \(patch)]").decide(#"{"x":1}"#)
        #expect(decision.error?.rule == "a")
        #expect(decision.error?.reason.contains(reason) == true, "\(decision.error?.reason ?? "")")
        #expect(!decision.isChanged)
    }

    @Test(arguments: [
        ("[{ op: replace, path: /_id, value: x }]", "patch can't touch '_id'"),
        ("[{ op: remove, path: /_rev }]", "patch can't touch '_rev'"),
        ("[{ op: add, path: /_deleted, value: true }]", "patch can't touch '_deleted'"),
        ("[{ op: move, from: /_id, path: /id }]", "patch can't touch '_id'"),
        ("[{ op: add, path: /_attachments/a, value: {} }]", "patch can't touch '_attachments': use attach and detach"),
        ("[{ op: replace, path: '', value: {} }]", "patch can't replace the whole document"),
        ("[{ op: add, path: x, value: 1 }]", "'x' is not a JSON Pointer"),
        ("[{ op: jump, path: /x }]", "there is no such 'op'"),
        ("[{ op: add, path: /x }]", "value"),
        ("[1]", "patch: write an object"),
    ])
    func invalidPatchesAreErrorsOfTheFile(patch: String, message: String) {
        let found = errors("version: 1\nrules:\n  - {name: a, when: {}, then: [{patch: \(patch)}]}\n")
        #expect(found.count == 1 && found[0].hasPrefix("r.yaml:3:41: ") && found[0].contains(message), "\(found)")
    }

    @Test func patchMayReadReservedMembers() throws {
        let set = try ruleSet(
            lines:
                "name: a, when: {x: 1}, then: [patch: [{op: test, path: /_id, value: d}, {op: copy, from: /_id, path: /was}]]"
        )
        #expect(try set.decide(#"{"_id":"d","x":1}"#).document.string == #"{"_id":"d","x":1,"was":"d"}"#)
    }

    @Test func deleteMakesATombstone() throws {
        let set = try ruleSet(
            lines: "name: a, when: {done: true}, then: [merge: {y: 1}, delete: {}]",
            "name: later, when: {done: true}, then: [merge: {z: 1}]")
        let decision = try set.decide(#"{"x":1,"_rev":"3-a","_id":"d\u00e9","done":true,\#(Self.picture)}"#)
        #expect(decision.isDeletion && decision.isChanged)
        #expect(decision.fired == [0])
        #expect(decision.document.string == #"{"_id":"d\u00e9","_rev":"3-a","_deleted":true}"#)
        #expect(decision.bodySegments() == [decision.document.bytes])
    }

    @Test func putRequestsAnotherDocument() throws {
        let set = try ruleSet(
            lines: "name: list, when: {type: list}, then: [put: {id: summary, document: {type: summary, n: 1.10}}]",
            "name: again, when: {type: list}, then: [merge: {seen: true}, put: {document: {_id: log, a: 1}, if_exists: merge, keyspace: db.s.c}]"
        )
        let decision = try set.decide(#"{"_id":"l1","type":"list"}"#)
        #expect(decision.error == nil)
        #expect(decision.puts.map(\.id) == ["summary", "log"])
        #expect(decision.puts.map(\.rule) == [0, 1])
        #expect(decision.puts.map(\.keyspace) == [nil, "db.s.c"])
        #expect(decision.puts.map(\.ifExists) == [.keep, .merge])
        #expect(
            decision.puts.map(\.document.string) == [
                #"{"type":"summary","n":1.10,"_id":"summary"}"#, #"{"_id":"log","a":1}"#,
            ])
        #expect(decision.document.string == #"{"_id":"l1","type":"list","seen":true}"#)
        #expect(set.otherKeyspaces == ["db.s.c"])
    }

    @Test(arguments: [
        ("{id: l1, document: {a: 1}}", "put writes other documents, not the one that changed ('l1')"),
        ("{id: a, document: {_id: b}}", "put: 'id' is 'a', but the document's '_id' is 'b'"),
        ("{document: {_id: 1}}", "put: neither the rule's 'id' nor the document's '_id' names a document"),
    ])
    func invalidPutDeadLettersTheDocument(put: String, reason: String) throws {
        let decision = try ruleSet(lines: "name: a, when: {}, then: [put: \(put)]").decide(#"{"_id":"l1"}"#)
        #expect(decision.error?.reason.hasPrefix(reason) == true, "\(decision)")
        #expect(decision.puts.isEmpty)
    }

    @Test(arguments: [
        (PutEffect.Existing.keep, nil),
        (.replace, #"{"_id":"d","a":{"n":null},"b":2,"_rev":"1-a","_attachments":{"i":{}}}"#),
        (.merge, #"{"_id":"d","_rev":"1-a","_attachments":{"i":{}},"c":3,"a":{},"b":2}"#),
    ])
    func existingDocumentIsKeptReplacedOrMerged(existing: PutEffect.Existing, expected: String?) throws {
        let put = PutEffect(
            id: "d", keyspace: nil, document: try JSONText(#"{"_id":"d","a":{"n":null},"b":2}"#), ifExists: existing)
        let current = try JSONText(#"{"_id":"d","_rev":"1-a","_attachments":{"i":{}},"c":3,"a":{"n":1}}"#)
        let written = try put.write(over: current)
        #expect(written?.string == expected)
        if let written { #expect(try put.write(over: written) == nil) }
        #expect(
            try put.newDocument?.string
                == (existing == .merge ? #"{"_id":"d","a":{},"b":2}"# : #"{"_id":"d","a":{"n":null},"b":2}"#))
    }

    @Test func filterLeavesOtherDocumentsUnchanged() throws {
        let rules = try ruleSet(
            lines: "name: a, when: {x: 1}, then: [merge: {x: 2}]", "name: b, when: {x: 2}, then: [merge: {y: 1}]")
        let filtered = RuleSet(rules.rules, filter: try DocumentFilter(#"{"x": 1, "only": true}"#, name: "--selector"))
        #expect(try filtered.decide(#"{"x":1}"#).fired == [])
        // The filter applies to the original document.
        #expect(try filtered.decide(#"{"x":1,"only":true}"#).document.string == #"{"x":2,"only":true,"y":1}"#)
        #expect(!filtered.makeDecider().mayFire(on: try JSONText(#"{"x":1}"#).root, isDeleted: false))
        #expect(filtered.makeDecider().mayFire(on: try JSONText(#"{"x":1,"only":true}"#).root, isDeleted: false))
        #expect(filtered.hash != rules.hash)
        let error = #expect(throws: RuleFilesError.self) {
            try DocumentFilter(#"{"x": {"$in": 1}}"#, name: "--selector")
        }
        #expect(error?.description.hasPrefix("--selector:1:15: $in takes a list of values") == true)
    }
}
