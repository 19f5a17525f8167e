import Testing

@testable import GatewayClient

/// Which names of databases and collections a list of patterns selects.
@Suite struct DatabasePatternTests {
    @Test(
        arguments: [
            (["userdb-*"], "userdb-", true), (["userdb-*"], "userdb-61", true), (["userdb-*"], "xuserdb-1", false),
            (["orders"], "orders", true), (["orders"], "orders2", false), (["*"], "anything", true),
            (["a?c"], "abc", true), (["a?c"], "ac", false), (["a?c"], "abbc", false),
            (["*-eu-*"], "orders-eu-1", true), (["*-eu-*"], "orders-us-1", false), (["a*b*c"], "axxbyybzc", true),
            (["a*b*c"], "axxbyybz", false), (["a**"], "a", true), (["*a"], "baaa", true),
            (["userdb-*", "!userdb-test*"], "userdb-test1", false), (["!userdb-test*", "userdb-*"], "userdb-1", true),
            (["x", "y"], "y", true), (["*"], "_users", false), (["*"], "_replicator", false),
            (["dept/*"], "dept/sales", true), (["über*"], "überall", true),
        ] as [([String], String, Bool)])
    func namesAreSelected(patterns: [String], name: String, isSelected: Bool) throws {
        #expect(try DatabasePatterns(patterns).matches(name) == isSelected)
    }

    @Test func collectionsMayBeInTheDefaultScope() throws {
        #expect(try DatabasePatterns(["_default.*"], of: .collections).matches("_default.tasks"))
        #expect(try DatabasePatterns(["app.*"], of: .collections).matches("app.tasks"))
        #expect(try !DatabasePatterns(["app.*"], of: .collections).matches("_default.tasks"))
    }

    @Test func longPatternsAreComparedQuickly() throws {
        let patterns = try DatabasePatterns([String(repeating: "*a", count: 200)])
        #expect(!patterns.matches(String(repeating: "a", count: 2_000) + "b"))
    }

    @Test(
        arguments: [
            ([""], "a pattern is empty"), (["!"], "a pattern is empty"), (["!a"], "no pattern includes a name"),
            (["a b"], "'a b' contains ' '"), (["a{1}"], "contains '{'"), (["[ab]*"], "contains '['"),
            (["_users"], "'_users' can match nothing"), (["a,b"], "contains ','"),
        ])
    func mistakesAreNamed(patterns: [String], part: String) {
        let error = #expect(throws: DatabasePatternError.self) { try DatabasePatterns(patterns) }
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
    }

    @Test func namesWithoutWildcardsAreKnown() throws {
        #expect(try DatabasePatterns(["a", "b"]).literalNames == ["a", "b"])
        #expect(try DatabasePatterns(["a", "b", "!b"]).literalNames == ["a"])
        #expect(try DatabasePatterns(["a", "b*"]).literalNames == nil)
    }
}
