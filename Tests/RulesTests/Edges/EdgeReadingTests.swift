import Testing

@testable import Rules

/// Mistakes in rules with `changed`, `enter` or `leave`.
@Suite struct EdgeReadingTests {
    private func error(_ rule: String) -> String? {
        let all = errors("version: 1\nrules:\n- { name: a, when: {type: t}, \(rule) }\n")
        return all.count == 1 ? all[0] : all.isEmpty ? nil : "\(all)"
    }

    @Test(arguments: [
        "changed: [a, b.c], then: []", "on: [enter], then: []", "on: [leave], remember: [a], then: [emit: {file: '-'}]",
        "on: [change, leave], changed: [a], first: fire, then: []", "on: [enter, leave], first: learn, then: []",
        "on: [enter], then: [merge: {b: 1}]", "changed: [_attachments], then: [delete: {}]",
        "on: [change, delete, enter, leave], then: []",
    ])
    func validRules(rule: String) { #expect(error(rule) == nil) }

    @Test(arguments: [
        ("changed: [_rev], then: []", "3:41: '_rev' describes the revision"),
        ("changed: [_deleted], then: []", "describes the revision"),
        ("changed: [_id], then: []", "'_id' never changes"),
        ("changed: [_exp], then: []", "'_exp' is not in the changes feed"),
        ("changed: [tags.0], then: []", "3:41: 'tags.0' names a list element by its index (0)"),
        ("changed: [], then: []", "'changed' must be a list of member names"),
        ("changed: complete, then: []", "'changed' must be a list of member names"),
        ("changed: [a..b], then: []", "'changed' must list member names"),
        ("changed: [1], then: []", "'changed' must list member names"),
        ("changed: [a, a], then: []", "'a' and 'a' are the same member"),
        ("changed: [a, a.b], then: []", "'a.b' and 'a' overlap; keep the shorter name"),
        ("on: [delete], changed: [a], then: []", "'changed' only restricts change, which 'on' does not include"),
        ("on: [enter], changed: [a], then: []", "add change to 'on', or remove 'changed'"),
        ("on: [change, delete], changed: [a], then: []", "'changed' can't be combined with delete"),
        ("first: fire, then: []", "3:38: 'first' needs 'changed', or enter or leave in 'on'"),
        ("remember: [a], then: []", "'remember' needs 'changed'"),
        ("on: [leave], first: fire, then: []", "first: fire has no effect if 'on' is only leave"),
        ("on: [enter], first: never, then: []", "'first' must be fire or learn"),
        ("on: [enter], remember: [a], then: []", "'remember' has no effect if 'on' is only enter"),
        ("on: [leave], remember: [_attachments], then: []", "'_attachments' can't be remembered"),
        (
            "on: [leave], then: [merge: {b: 1}]",
            "3:51: 'merge' changes the document, which may be deleted when it leaves"
        ),
        ("on: [leave], then: [detach: {name: a}]", "changes the document"),
        ("on: [arrive], then: []", "'on' can contain only change, delete, enter and leave"),
        ("changed: [a], at: .dueAt, then: []", "'at' can't be combined with 'changed'"),
        ("changed: [a], then: [resolve: winner]", "'resolve' settles each conflict once"),
        (
            "on: [enter], if: $before.a, then: []",
            "'if' determines which documents match, so it can't read $before"
        ),
        (
            "on: [leave], if: $change.edge != null, then: []",
            "'if' determines which documents match, so it can't read $change.edge"
        ),
        ("then: [emit: {file: '-', line: {jq: $before}}]", "$before"),
    ])
    func mistakeIsReportedWithItsPlace(rule: String, message: String) {
        let error = error(rule)
        #expect(error?.contains(message) == true, "\(error ?? "no error")")
    }

    @Test func scheduledRulesAndMappingsCompareNothing() {
        let rule = "rules:\n- { name: a, when: {}, changed: [b], then: [] }\n"
        #expect(
            errors("version: 1\nevery: '0 3 * * *'\n\(rule)").joined().contains("rules of a file with 'every' don't"))
        #expect(errors("version: 1\nkind: mapping\n\(rule)").joined().contains("a mapping sees each document once"))
    }

    @Test func ruleStartsAnewIfItsConditionIsEdited() throws {
        func fingerprint(_ rule: String) throws -> String {
            try #require(ruleSet(lines: "name: a, \(rule)").comparing.first).fingerprint
        }
        let rule = try fingerprint("when: {a: 1}, changed: [b], then: []")
        #expect(try fingerprint("when: {a: 1}, changed: [b], first: fire, then: [merge: {c: 1}]") == rule)
        for other in [
            "when: {a: 2}, changed: [b], then: []", "when: {a: 1}, changed: [c], then: []",
            "when: {a: 1}, changed: [b], remember: [c], then: []",
            "when: {a: 1}, unless: {c: 1}, changed: [b], then: []",
            "when: {a: 1}, if: .c, changed: [b], then: []", "when: {a: 1}, on: [change, leave], changed: [b], then: []",
            "when: {a: 1}, changed: [b], then: [merge: {c: {jq: $before.b}}]",
        ] {
            #expect(try fingerprint(other) != rule, "\(other)")
        }
    }
}
