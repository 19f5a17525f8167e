import Testing

@testable import Rules

@Suite struct AllowedWarningTests {
    private static func warnings(_ rules: String...) throws -> [RuleWarning] {
        let text = "version: 1\nrules:\n" + rules.map { "- { \($0) }\n" }.joined()
        let shared = RuleReading.Shared()
        let file = RuleFile(path: "r.yaml", bytes: Array(text.utf8), shared: shared)
        try #require(file.errors.isEmpty, "\(file.errors)")
        return RuleFileSet(files: [file], programs: shared.programs.all, attached: shared.attachments.paths)
            .warnings()
    }

    private static let again = "name: a, when: {type: task}, then: [{merge: {state: open}}]"

    @Test func warningsPrintTheirCode() throws {
        let found = try Self.warnings(Self.again)
        #expect(found.map(\.code) == [.firesAgain])
        #expect(found.first?.description.hasSuffix(" [fires-again]") == true)
    }

    @Test func warningIsAcceptedOnlyForItsRule() throws {
        #expect(try Self.warnings(Self.again + ", allow: [fires-again]") == [])
        let both = try Self.warnings(
            "name: a, allow: [white-space], when: {type: ' task'}, then: [{merge: {state: open}}]")
        #expect(both.map(\.code) == [.firesAgain])
        let other = try Self.warnings(
            Self.again + ", allow: [fires-again]", "name: b, when: {type: list}, then: [{merge: {state: open}}]")
        #expect(other.map(\.rule) == ["b"])
    }

    @Test func warningsOfActionsAreAccepted() throws {
        let rule = "name: a, when: {type: task, x: {$exists: false}}, then: [{merge: {x: $now}}]"
        #expect(try Self.warnings(rule).map(\.code) == [.notAProgram])
        #expect(try Self.warnings(rule + ", allow: [not-a-program]") == [])
    }

    @Test func unusedAllowIsAWarning() throws {
        let found = try Self.warnings("name: a, when: {}, then: [], allow: [fires-again]")
        #expect(
            found.map(\.description) == [
                "r.yaml:3:42: warning: rule 'a': there is no warning 'fires-again' to accept; remove it from `allow` "
                    + "[unused-allow]"
            ])
    }

    @Test func allowThatDependsOnOtherRulesIsNotReportedAsUnused() throws {
        let up = "name: up, when: {x: 1}, then: [{merge: {x: 2}}]"
        let down = "name: down, when: {x: 2}, then: [{merge: {x: 1}}], allow: [rule-loop]"
        #expect(try Self.warnings(up, down) == [])
        #expect(try Self.warnings(down) == [])
        for code in ["duplicate-rule", "never-fires"] {
            #expect(try Self.warnings("name: a, when: {}, then: [], allow: [\(code)]") == [])
        }
    }

    @Test func undoneEffectIsAcceptedOnlyForItsRule() throws {
        let put = "name: a, when: {type: list}, then: [{put: {id: x, if_exists: replace, document: {type: sum}}}]"
        let seen = "name: b, when: {type: sum, at: {$exists: false}}, then: [{merge: {at: 1}}]"
        #expect(try Self.warnings(put, seen).map(\.code) == [.undoneEffect])
        #expect(try Self.warnings(put + ", allow: [undone-effect]", seen) == [])
        #expect(try Self.warnings(put + ", allow: [undone-effect]") == [])
    }

    @Test(arguments: [
        ("fires-agian", "'fires-agian' is not a warning code: did you mean 'fires-again'? Codes: never-fires, "),
        ("1", "'a number' is not a warning code"),
    ])
    func unknownCodesAreErrors(code: String, error: String) {
        let found = errors("version: 1\nrules: [{name: a, when: {}, then: [], allow: [\(code)]}]\n")
        #expect(found.count == 1 && found.allSatisfy { $0.hasPrefix("r.yaml:2:47: " + error) }, "\(found)")
    }

    @Test func acceptedWarningsDoNotChangeDecisions() throws {
        #expect(try ruleSet(lines: Self.again).hash == ruleSet(lines: Self.again + ", allow: [fires-again]").hash)
    }
}
