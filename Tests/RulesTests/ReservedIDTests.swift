import LosslessJSON
import TestKit
import Testing

@testable import Rules

@Suite(.limitedParallelism) struct ReservedIDTests {
    private static func put(_ body: String, head: String = "version: 1\n") -> String {
        head + "rules: [{name: a, when: {}, then: [{put: {\(body)}}]}]\n"
    }

    /// `_design/` followed by an accent begins with `_design/` for a gateway, but not for `hasPrefix`.
    @Test func computedIDNeverBeginsWithAnUnderscore() async throws {
        let bodies = [
            "id: {jq: .key}, document: {x: 1}", "document: {jq: '{_id: .key}'}", "document: {_id: {jq: .key}}",
            "id: {jq: .key}, document: {x: 1}, keyspace: other",
        ]
        // One set for all rules, because jq compiles slowly.
        let rules = bodies.enumerated().map { "{name: r\($0), when: {form: \($0)}, then: [{put: {\($1)}}]}" }
        let set = try ruleSet("version: 1\nrules: [\(rules.joined(separator: ", "))]\n")
        for id in ["_design/x", "_design/\u{301}x", "_local/changebot.x", "_\u{301}", "_", "_security", "_all_docs"] {
            for (form, body) in bodies.enumerated() {
                let decision = try await set.decided(#"{"_id":"a","form":\#(form),"key":"\#(id)"}"#)
                #expect(decision.puts.isEmpty)
                #expect(decision.error?.rule == "r\(form)")
                #expect(
                    decision.error?.reason.hasPrefix("put: a computed id can't begin with '_'") == true,
                    "\(id): \(body)")
            }
        }
    }

    @Test(arguments: [
        ("id: _design/x, document: {y: 1}", "2:47: '_design/x' is a design document"),
        ("document: {_id: _design/x}", "2:59: '_design/x' is a design document"),
        ("id: _local/x, document: {}, allow_design: true", "2:47: gateways refuse ids that begin with '_'"),
        ("id: _design/, document: {}, allow_design: true", "2:47: gateways refuse ids that begin with '_'"),
        ("id: _x, document: {}", "2:47: gateways refuse ids that begin with '_'"),
        ("id: x, document: {}, allow_design: true", "2:78: 'allow_design' is only for a literal id"),
        ("id: {jq: .x}, document: {}, allow_design: true", "2:85: 'allow_design' is only for a literal id"),
        ("id: x, document: {}, allow_design: 1", "2:78: 'allow_design' must be true or false"),
    ])
    func literalIDsAreCheckedOnLoading(body: String, error: String) {
        let found = errors(Self.put(body))
        #expect(found.contains { $0.hasPrefix("r.yaml:" + error) }, "\(found)")
        #expect(errors(Self.put(body, head: "version: 1\nkind: mapping\n")).isEmpty == false)
    }

    @Test func literalDesignDocumentMayBePut() throws {
        let set = try ruleSet(Self.put("id: _design/x, document: {views: {}}, allow_design: true"))
        #expect(try set.decide(#"{"_id":"a"}"#).puts.map(\.id) == ["_design/x"])
        let inside = try ruleSet(Self.put("document: {_id: _design/x}, allow_design: true"))
        #expect(try inside.decide(#"{"_id":"a"}"#).puts.map(\.id) == ["_design/x"])
    }

    private static func mapping(_ actions: String, when: String = "{}") throws -> RuleSet {
        let text = "version: 1\nkind: mapping\nrules: [{name: a, when: \(when), then: [\(actions)]}]\n"
        let shared = RuleReading.Shared()
        let file = RuleFile(path: "m.yaml", bytes: Array(text.utf8), shared: shared)
        let found = file.errors + shared.programs.compile()
        guard found.isEmpty else { throw RuleFilesError(kind: .invalid, errors: found) }
        return RuleSet(file.rules, kind: .mapping, programs: shared.programs.all)
    }

    @Test func mappingKeepsButDoesNotCreateDesignDocuments() async throws {
        let set = try Self.mapping("{merge: {_id: {jq: .key}}}")
        let error = try await set.decided(#"{"key":"_design/x"}"#).error
        #expect(error?.reason.contains("can't create ids that begin with '_'") == true)
        let put = try Self.mapping("{put: {id: {jq: .key}, document: {x: 1}}}, {delete: }")
        #expect(try await put.decided(#"{"key":"_design/x"}"#).error != nil)
    }

    /// Regression: a mapping added members to the design documents of the file.
    @Test(arguments: [("{}", false), ("{_id: {$beginsWith: _design/}}", true)])
    func mappingSeesDesignDocumentsOnlyIfItNamesThem(when: String, isSeen: Bool) async throws {
        let kept = try await Self.mapping("{merge: {x: 1}}", when: when).decided(#"{"_id":"_design/x"}"#)
        #expect(kept.error == nil && kept.mapped.map(\.id) == ["_design/x"])
        #expect(kept.fired.isEmpty == !isSeen && kept.isChanged == isSeen)
    }
}
