import Testing

@testable import Rules

@Suite struct TimeCheckTests {
    private func codes(_ rule: String) throws -> [String] {
        try warnings([rule]).compactMap { $0.split(separator: "[").last.map { String($0.dropLast()) } }
    }

    @Test(arguments: [
        "name: a, when: {type: task}, if: .dueAt < $now, then: [merge: {late: true}]",
        "name: a, when: {type: task}, if: {jq: '.dueAt < now'}, then: [merge: {late: true}]",
        "name: a, when: {type: task}, then: [merge: {late: {jq: 'if .dueAt < $now then true else empty end'}}]",
        "name: a, when: {type: task}, then: [put: {id: x, document: {jq: 'select($now > .dueAt)'}}]",
    ])
    func timeDependentRuleWithoutATimerIsReported(rule: String) throws {
        let found = try codes(rule)
        #expect(found.contains("no-timer"), "\(found)")
    }

    @Test(arguments: [
        "name: a, when: {type: task}, at: .dueAt, if: .dueAt < $now, then: [merge: {late: true}]",
        "name: a, when: {createdAt: {$exists: false}}, then: [merge: {createdAt: {jq: $now | todate}}]",
        "name: a, when: {type: task}, if: .now < 5, then: [merge: {late: true}]",
        "name: a, on: [delete], when: {}, if: $now > 5, then: []",
    ])
    func otherRulesAreAccepted(rule: String) throws {
        let found = try codes(rule)
        #expect(!found.contains("no-timer"), "\(found)")
    }

    @Test func scheduledRuleIsAccepted() throws {
        let text = """
            version: 1
            every: "0 3 * * *"
            rules:
              - { name: a, when: {type: task}, if: .dueAt < $now, then: [merge: {late: true}] }
              - { name: b, when: {type: task}, then: [merge: {seenAt: {jq: $now}}] }
            """
        let shared = RuleReading.Shared()
        let file = RuleFile(path: "r.yaml", bytes: Array(text.utf8), shared: shared)
        try #require(file.errors.isEmpty, "\(file.errors)")
        let set = RuleFileSet(files: [file], programs: shared.programs.all, attached: shared.attachments.paths)
        #expect(set.warnings().isEmpty, "\(set.warnings())")
    }

    @Test(arguments: [
        ("'$now + 60'", "so that time never arrives"), ("now", "so that time never arrives"),
        ("'1795168800.5'", "the same for all"),
        ("'\"2027-01-01\"'", "the same for all"),
    ])
    func timeIndependentOfTheDocumentIsReported(program: String, message: String) throws {
        let found = try warnings(["name: a, when: {type: task}, at: \(program), then: [merge: {late: true}]"])
        #expect(found.contains { $0.contains(message) && $0.hasSuffix("[fixed-time]") }, "\(found)")
    }

    @Test(arguments: [
        ".dueAt", "'[.dueAt, $now] | max'", "'$change.id'", "'\"\\(.day)T00:00:00Z\"'", "'.createdAt | fromdate + 60'",
    ])
    func timeOfTheDocumentIsAccepted(program: String) throws {
        let found = try warnings(["name: a, when: {type: task}, at: \(program), then: [merge: {late: true}]"])
        #expect(found.isEmpty, "\(found)")
    }
}
