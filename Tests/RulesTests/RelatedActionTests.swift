import Foundation
import LosslessJSON
import TestKit
import Testing

@testable import Rules

/// Actions on the documents that a selector matches.
@Suite(.limitedParallelism) struct RelatedActionTests {
    private static func rule(_ related: String) -> String {
        "version: 1\nrules:\n  - {name: a, when: {}, then: [{related: \(related)}]}\n"
    }

    private static let deleting = "then: [delete: {}]"

    @Test(arguments: [
        ("x", "3:42: related must be an object with the keys selector, limit, then, not text"),
        ("{\(deleting)}", "3:42: 'selector' is missing; say which documents"),
        ("{selector: {type: task}}", "3:42: 'then' is missing; write the actions for each document"),
        ("{selector: {type: task}, then: []}", "3:73: 'then' of related is empty; write the actions for each document"),
        ("{selector: {type: task}, then: {delete: {}}}", "'then' must be a list of actions on the related documents"),
        ("{selector: {type: task}, more: 1, \(deleting)}", "'more' is not known to this version"),
        // Everything would be deleted.
        ("{selector: {}, \(deleting)}", "3:53: the selector matches every document; say which ones are related"),
        ("{selector: {type: {$ne: task}}, \(deleting)}", "the selector matches every document"),
        ("{selector: {$nor: [{type: task}]}, \(deleting)}", "the selector matches every document"),
        ("{selector: {$not: {type: task}}, \(deleting)}", "the selector matches every document"),
        ("{selector: {done: {$exists: false}}, \(deleting)}", "the selector matches every document"),
        ("{selector: {_id: {$gt: null}}, \(deleting)}", "the selector matches every document"),
        ("{selector: {_id: {$beginsWith: ''}}, \(deleting)}", "the selector matches every document"),
        ("{selector: {_id: {$regex: ''}}, \(deleting)}", "the selector matches every document"),
        ("{selector: {$or: [{type: task}, {}]}, \(deleting)}", "the selector matches every document"),
        ("{selector: {$and: []}, \(deleting)}", "the selector matches every document"),
        // A document can only supply values.
        ("{selector: {jq: '{type: .x}'}, \(deleting)}", "3:53: only the values of a selector can be computed"),
        ("{selector: {type: a, $or: [{jq: .x}]}, \(deleting)}", "only the values of a selector can be computed"),
        ("{selector: {type: a, $not: {jq: .x}}, \(deleting)}", "only the values of a selector can be computed"),
        ("{selector: {type: a, l: {$elemMatch: {jq: .x}}}, \(deleting)}", "only the values of a selector"),
        ("{selector: {type: {$regex: {jq: .x}}}, \(deleting)}", "the argument of $regex can't be computed"),
        ("{selector: {type: {$exists: {jq: .x}}}, \(deleting)}", "the argument of $exists can't be computed"),
        ("{selector: {type: {jq: '.('}}, \(deleting)}", "not a jq program"),
        ("{selector: {type: {jq: .x, type: text}}, \(deleting)}", "'type' next to 'jq' must be a JSON type"),
        ("{selector: {type: {$foo: 1}}, \(deleting)}", "$foo"),
        ("{selector: {type: a}, limit: 0, \(deleting)}", "'limit' must be a number of documents from 1 to 1000000"),
        ("{selector: {type: a}, limit: 1000001, \(deleting)}", "'limit' must be a number of documents"),
        ("{selector: {type: a}, limit: many, \(deleting)}", "'limit' must be a number of documents"),
        (
            "{selector: {type: a}, then: [{related: {selector: {type: b}, \(deleting)}}]}",
            "'related' is not allowed in the 'then' of related; write a rule for the related documents"
        ),
        ("{selector: {type: a}, then: [{merge: {_rev: x}}]}", "merge can't touch '_rev'"),
        ("{selector: {type: a}, then: [delete: {}, merge: {b: 1}]}", "no action can follow 'delete'"),
        ("{selector: {type: {jq: $source.x}}, \(deleting)}", "$source"),
    ])
    func invalidRelatedIsRefused(related: String, message: String) {
        let found = errors(Self.rule(related))
        #expect(found.contains { $0.contains(message) }, "\(found)")
    }

    @Test func mappingWithRelatedIsRefused() {
        let text =
            "version: 1\nkind: mapping\nrules:\n  - {name: a, when: {}, then: [{related: {selector: {b: 1}, then: [delete: {}]}}]}\n"
        #expect(errors(text).contains { $0.contains("'related' has no meaning in a mapping") })
    }

    @Test func sourceIsKnownOnlyInThen() {
        #expect(errors(Self.rule("{selector: {a: 1}, then: [{merge: {b: {jq: $source.b}}}]}")) == [])
        let outside = "version: 1\nrules:\n  - {name: a, when: {}, then: [{merge: {b: {jq: $source.b}}}]}\n"
        #expect(errors(outside).contains { $0.contains("$source") })
    }

    // MARK: - Selectors with values filled in

    private func related(_ selector: String, _ document: String, more: String = "") async throws -> Decision {
        let rules = try ruleSet(
            "version: 1\nrules:\n  - {name: a, when: {}, then: [{related: {selector: \(selector), then: [delete: {}]}}\(more)]}\n"
        )
        return try await rules.decided(document)
    }

    private static let list =
        #"{"_id":"l1","owner":"amy","none":null,"o":{"$gt":null},"ids":["t1","t2"],"big":12345678901234567890}"#

    @Test(arguments: [
        ("{type: task, taskList.id: {jq: ._id}}", #"{"type":"task","taskList.id":"l1"}"#),
        ("{taskList: {id: {jq: ._id}}, n: 1.10}", #"{"taskList":{"id":"l1"},"n":1.10}"#),
        ("{_id: {$in: {jq: .ids}}}", #"{"_id":{"$in":["t1","t2"]}}"#),
        ("{_id: {$in: [x, {jq: ._id}]}}", #"{"_id":{"$in":["x","l1"]}}"#),
        ("{owner: {$ne: {jq: .owner}}, type: task}", #"{"owner":{"$ne":"amy"},"type":"task"}"#),
        ("{_id: {$beginsWith: {jq: '._id + \":\"'}}}", #"{"_id":{"$beginsWith":"l1:"}}"#),
        ("{$or: [{a: {jq: ._id}}, {b: {jq: ._id}}]}", #"{"$or":[{"a":"l1"},{"b":"l1"}]}"#),
        // Text that looks like an operator is a value, so a document can't widen the selector.
        ("{list: {jq: .o}}", #"{"list":{"$eq":{"$gt":null}}}"#),
        ("{list: {$eq: {jq: .o}}}", #"{"list":{"$eq":{"$gt":null}}}"#),
        ("{list: {$in: [{jq: .o}]}}", #"{"list":{"$in":[{"$gt":null}]}}"#),
    ])
    func valuesAreFilledIn(selector: String, filled: String) async throws {
        let decision = try await related(selector, Self.list)
        #expect(decision.error == nil)
        #expect(decision.related.map { String(decoding: $0.selector.json, as: UTF8.self) } == [filled])
        #expect(decision.related.first?.limit == 10_000)
    }

    @Test(arguments: [
        ("{_id: x}", ["x"]), ("{_id: {$eq: x}, type: task}", ["x"]), ("{_id: {jq: ._id}}", ["l1"]),
        ("{_id: {$in: {jq: .ids}}}", ["t1", "t2"]), ("{_id: {$in: [x, 7, null, {jq: ._id}]}}", ["x", "l1"]),
        ("{type: task, $and: [{a: 1}, {$and: [{_id: {$in: [x, y]}}]}]}", ["x", "y"]),
        // The shorter list suffices, because the whole selector is matched afterwards.
        ("{_id: {$in: [x, y], $gt: a}, $and: [{_id: x}]}", ["x"]), ("{$nor: [{_id: {$ne: x}}, {b: 1}]}", ["x"]),
        // No document can have this id.
        ("{_id: {$in: []}}", []), ("{_id: 7}", []), ("{_id: {jq: .o}}", []), ("{_id: {jq: .ids}}", []),
        ("{_id: {$gt: x}}", nil), ("{_id: {$beginsWith: x}}", nil), ("{_id: {$ne: x}, a: 1}", nil),
        ("{$or: [{_id: x}, {_id: y}]}", nil), ("{a: {_id: x}}", nil), ("{_id.x: y}", nil), ("{id: x}", nil),
        ("{_id: {$not: {$in: [x]}}, a: 1}", nil), ("{a: {$elemMatch: {_id: x}}}", nil),
    ])
    func namedIDsAreKnown(selector: String, ids: [String]?) async throws {
        let decision = try await related(selector, Self.list)
        let effect = try #require(decision.related.first, "\(String(describing: decision.error))")
        #expect(effect.selector.ids == ids)
    }

    @Test(arguments: [
        "{list: {jq: .none}}", "{list: {jq: .missing}}", "{list: {jq: empty}}", "{a: 1, b: {$in: {jq: .x}}}",
    ])
    func missingValueMatchesNothing(selector: String) async throws {
        let decision = try await related(selector, Self.list)
        #expect(decision.error == nil)
        #expect(decision.related.isEmpty)
        #expect(decision.fired == [0])
    }

    @Test(arguments: [
        ("{list: {jq: '.ids[]'}}", "a program in the selector gives 2 values; it must give one"),
        ("{list: {jq: .owner, type: number}}", "a value of the selector must be a number; the program gives \"amy\""),
        ("{_id: {$in: {jq: .owner}}}", "are filled in: $in takes"),
        ("{_id: {$gt: {jq: '\"\"'}}}", "once its values are filled in, the selector matches every document"),
        ("{_id: {$beginsWith: {jq: '\"\"'}}}", "the selector matches every document"),
        ("{n: {jq: '.big + 1'}}", "related: "),
    ])
    func invalidValueIsAnError(selector: String, reason: String) async throws {
        let decision = try await related(selector, Self.list)
        #expect(decision.error?.reason.contains(reason) == true, "\(String(describing: decision.error))")
        #expect(decision.related.isEmpty)
    }

    /// The selector comes from the last pass, which sees the final document.
    @Test func lastPassReplacesEarlierEffects() async throws {
        let rules = try ruleSet(
            """
            version: 1
            rules:
              - {name: a, when: {}, then: [{related: {selector: {list: {jq: .key}}, then: [delete: {}]}}]}
              - {name: b, when: {key: {$exists: false}}, then: [{merge: {key: k1}}]}
            """)
        let decision = try await rules.decided(#"{"_id":"l1"}"#)
        #expect(decision.related.map { String(decoding: $0.selector.json, as: UTF8.self) } == [#"{"list":"k1"}"#])
    }

    // MARK: - Decisions on related documents

    private func decide(_ then: String, _ documents: [String], source: String = list) async throws -> [Decision] {
        let rules = try ruleSet(
            "version: 1\nrules:\n  - {name: a, when: {}, then: [{related: {selector: {type: task}, then: \(then)}}]}\n")
        let input = DecisionInput(try JSONText(source), isDeleted: true, sequence: Array("7".utf8))
        let decision = try #require(
            await rules.makeDecider().decide(on: [DecisionInput(try JSONText(source))], now: 5).first)
        let effect = try #require(decision.related.first)
        let decider = RelatedDecider(effect, of: input, rules)
        let texts = try documents.map { try JSONText($0) }
        for text in texts { #expect(try decider.matches(text.root)) }
        return await decider.decide(on: texts, now: 5)
    }

    /// The changed document can't name a design document either.
    @Test(arguments: [
        ("{n: 1}", false), ("{_id: {jq: .target}}", false), ("{_id: {$in: [a, {jq: .target}]}}", false),
        ("{_id: _design/app}", true), ("{_id: {$beginsWith: _design/}, n: 1}", true),
    ])
    func designDocumentMatchesOnlyIfTheRuleNamesIt(selector: String, isFound: Bool) async throws {
        let rules = try ruleSet(
            "version: 1\nrules:\n"
                + "  - {name: a, when: {}, then: [{related: {selector: \(selector), then: [{merge: {done: true}}]}}]}\n"
        )
        let source = DecisionInput(try JSONText(#"{"_id":"t1","target":"_design/app"}"#))
        let effect = try #require(await rules.makeDecider().decide(on: [source], now: 5).first?.related.first)
        let decider = RelatedDecider(effect, of: source, rules)
        let design = try JSONText(#"{"_id":"_design/app","_rev":"1-a","n":1}"#)
        #expect(try decider.matches(design.root) == isFound)
        if isFound { #expect(await decider.decide(on: [design], now: 5).first?.isChanged == true) }
    }

    @Test func actionsSeeTheRelatedDocumentAndTheSource() async throws {
        let decisions = try await decide(
            "[{merge: {owner: {jq: $source.owner}, was: {jq: .owner}, of: {jq: $change.id}, seq: {jq: $change.seq}, at: {jq: $now}}}]",
            [#"{"_id":"t1","type":"task","owner":"bob","n":1.10}"#, #"{"_id":"t2","type":"task"}"#])
        #expect(
            decisions.map(\.document.string) == [
                #"{"_id":"t1","type":"task","owner":"amy","n":1.10,"was":"bob","of":"l1","seq":7,"at":5}"#,
                #"{"_id":"t2","type":"task","owner":"amy","of":"l1","seq":7,"at":5}"#,
            ])
    }

    /// Otherwise a counter would be a loop.
    @Test func actionsRunOnce() async throws {
        let decisions = try await decide("[{merge: {n: {jq: .n + 1}}}]", [#"{"_id":"t1","type":"task","n":1}"#])
        #expect(decisions.first?.document.string == #"{"_id":"t1","type":"task","n":2}"#)
        #expect(decisions.first?.error == nil)
    }

    @Test func actionsMayDeletePatchAndPut() async throws {
        let task = #"{"_id":"t1","_rev":"1-a","type":"task"}"#
        #expect(try await decide("[delete: {}]", [task]).first?.isDeletion == true)
        let put = try await decide("[{put: {id: {jq: '\"log.\" + ._id'}, document: {of: {jq: $source._id}}}}]", [task])
        #expect(put.first?.puts.map(\.document.string) == [#"{"of":"l1","_id":"log.t1"}"#])
        let unapplied = try await decide("[{patch: [{op: test, path: /a, value: 1}, {op: remove, path: /a}]}]", [task])
        #expect(unapplied.first?.isChanged == false)
        #expect(unapplied.first?.error == nil)
        let failed = try await decide("[{patch: [{op: remove, path: /a}]}]", [task])
        #expect(failed.first?.error != nil)
    }

    // MARK: - Reports

    @Test func reportShowsTheSelectorAndTheActions() async throws {
        let rules = try ruleSet(Self.rule("{selector: {type: task, list: {jq: ._id}}, limit: 5, \(Self.deleting)}"))
        let document = try JSONText(#"{"_id":"l1"}"#)
        let decision = try await rules.decided(document.string)
        let report = DecisionReport(document, decision, names: rules.names)
        let effect =
            #"{"rule":"a","action":"related","selector":{"type":"task","list":"l1"},"limit":5,"then":[{"delete":{}}]"#
        #expect(String(decoding: report.line(), as: UTF8.self).contains(#""effects":[\#(effect)}]"#))
        var finding = RelatedSearchResult()
        finding.noteFound(3)
        let other = try JSONText(#"{"_id":"t1"}"#)
        var deletion = Decision(other)
        deletion.result = .deleted(last: 0)
        finding.noteChange(DecisionReport(other, deletion, names: rules.names))
        let found = #","found":3,"changed":1,"documents":[{"id":"t1","deleted":true}]}]"#
        #expect(String(decoding: report.with([finding]).line(), as: UTF8.self).contains(effect + found))
    }

    @Test func explanationsNameTheSelector() async throws {
        let rules = try ruleSet(Self.rule("{selector: {list: {jq: ._id}}, \(Self.deleting)}"))
        let input = DecisionInput(try JSONText(#"{"_id":"l1"}"#))
        let summary = await rules.explain(input, now: 0).summary
        #expect(summary.contains(#"the document stays as it is; 'related' acts on documents that match {"list":"l1"}"#))
    }

    /// A different file or limit makes a different rule.
    @Test func hashCoversTheWholeAction() throws {
        let texts = [
            "{selector: {type: a}, \(Self.deleting)}", "{selector: {type: b}, \(Self.deleting)}",
            "{selector: {type: a}, limit: 5, \(Self.deleting)}", "{selector: {type: a}, then: [{merge: {a: 1}}]}",
            "{selector: {type: {jq: .a}}, \(Self.deleting)}",
        ]
        let hashes = try texts.map { try ruleSet(Self.rule($0)).hash }
        #expect(Set(hashes).count == texts.count)
        #expect(try ruleSet(Self.rule("{limit: 10000, \(Self.deleting), selector: {type: a}}")).hash == hashes[0])
    }

    @Test func keyspacesOfInnerPutsAreKnown() throws {
        let rules = try ruleSet(
            Self.rule("{selector: {type: a}, then: [{put: {id: x, keyspace: b.c.d, document: {}}}]}"))
        #expect(rules.otherKeyspaces == ["b.c.d"])
        #expect(rules.mayPut)
    }

    /// The rule fires on deletions, but its actions apply to existing documents.
    @Test func actionsMayFollowADeletion() throws {
        let text =
            "version: 1\nrules:\n  - {name: a, on: [delete], when: {}, then: [{related: {selector: {b: {jq: ._id}}, then: [delete: {}]}}]}\n"
        let file = RuleFile(path: "r.yaml", bytes: Array(text.utf8))
        #expect(file.rules.flatMap(ActionCheck.warnings).isEmpty)
        let lost =
            "version: 1\nrules:\n  - {name: a, when: {}, then: [{related: {selector: {b: 1}, then: [{patch: [{op: remove, path: /_attachments/a}]}]}}]}\n"
        #expect(RuleFile(path: "r.yaml", bytes: Array(lost.utf8)).rules.flatMap(ActionCheck.warnings).count == 1)
    }
}

/// A group of selectors finds the same as the selectors one by one.
@Suite(.limitedParallelism) struct SelectorGroupTests {
    private func group(_ selectors: [String]) throws -> SelectorGroup {
        SelectorGroup(try selectors.map { RelatedSelector(selector: try selector($0), json: Array($0.utf8)) })
    }

    @Test func groupFindsTheSameAsEachSelector() throws {
        let selectors =
            (0..<20).map { #"{"type":"task","list.id":"l\#($0)"}"# } + [
                #"{"type":"list"}"#, #"{"n":{"$gt":3}}"#, #"{"list.id":"é"}"#, #"{"list.id":"ap\u00ADple"}"#,
                #"{"$or":[{"type":"task"},{"n":1}]}"#, #"{"n":5}"#, #"{"list":{"$exists":true}}"#, #"{"list.id":5}"#,
            ]
        let group = try group(selectors)
        let documents = [
            #"{"type":"task","list":{"id":"l3"}}"#, #"{"type":"task","list":{"id":"l19"},"n":5}"#, #"{"type":"list"}"#,
            #"{"list":{"id":"é"}}"#, #"{"list":{"id":"e\u0301"}}"#, #"{"list":{"id":"apple"}}"#,
            #"{"type":"t\u0061sk","list":{"id":"\u006c3"}}"#, #"{"type":"task","list":{"id":5}}"#, #"{"list":[]}"#,
            #"{"n":1}"#, #"{}"#, #"{"list":{"id":"l3\u007f"},"type":"task"}"#,
        ]
        var found = 0
        for document in documents {
            let text = try JSONText(document)
            let alone = try selectors.indices.filter {
                try selector(selectors[$0]).matches(text.root, MatchScratch())
            }
            #expect(group.matching(text.root).sorted() == alone, "\(document)")
            found += alone.count
        }
        #expect(found > 10)
    }
}
