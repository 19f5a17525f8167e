import SyncFunctions
import Testing

@testable import EmbeddedGateway

@Suite struct UsersFileTests {
    private func parse(_ text: String) throws -> EmbeddedGateway.Users {
        try EmbeddedGateway.Users.parse(Array(text.utf8), database: "todo")
    }

    @Test func usersRolesAndGuestAreParsed() throws {
        let users = try parse(
            #"""
            {"logging": {}, "databases": {"todo": {
              "server": "walrus:", "bucket": "todo",
              "roles": {"reader": {"admin_channels": ["A", "B"]}},
              "users": {
                "alice": {"password": "secret", "admin_channels": ["!x"], "admin_roles": ["reader"]},
                "bob": {"disabled": true}
              },
              "guest": {"disabled": false, "admin_channels": ["*"]}
            }}}
            """#)
        let alice = try #require(users.accounts["alice"])
        #expect(alice.channels == ["!x"] && alice.roles == ["reader"] && !alice.isDisabled)
        #expect(alice.password?.matches("secret") == true)
        #expect(alice.password?.matches("Secret") == false)
        #expect(users.accounts["bob"]?.isDisabled == true && users.accounts["bob"]?.password == nil)
        #expect(users.roles == ["reader": ["A", "B"]])
        #expect(users.guest.channels == ["*"] && !users.guest.isDisabled)
    }

    @Test func collectionsAndTheirGrantsAreParsed() throws {
        let users = try parse(
            #"""
            {"databases": {"todo": {
              "scopes": {"_default": {"collections": {"lists": {}, "tasks": {}}}, "shop": {"collections": {"x": {}}}},
              "roles": {"r": {"collection_access": {"_default": {"tasks": {"admin_channels": ["T"]}}}}},
              "users": {"a": {"admin_channels": ["D"],
                "collection_access": {"_default": {"lists": {"admin_channels": ["L"]}, "tasks": {}}}}}
            }}}
            """#)
        #expect(users.collections == ["_default.lists", "_default.tasks", "shop.x"])
        #expect(users.roles["r"]?.byCollection == ["_default.tasks": ["T"]])
        #expect(
            users.accounts["a"]?.channels.byCollection == ["_default._default": ["D"], "_default.lists": ["L"]])
    }

    @Test func textInBackquotesMayContainLinesAndQuotes() throws {
        let source = "function (d) {\n channel(\"a\\\\b\"); }"
        let users = try parse("{\"databases\":{\"todo\":{\"bucket\":\"`\",\"sync\":`\(source)`}}}")
        #expect(users.functions["_default._default"]?.source == source)
    }

    @Test func guestIsDisabledByDefault() throws {
        #expect(try parse(#"{"databases":{"todo":{}}}"#).guest.isDisabled)
        #expect(try parse(#"{"databases":{"todo":{"users":{"GUEST":{"disabled":false}}}}}"#).guest.isDisabled == false)
    }

    @Test(arguments: [
        ("{\n  \"a\"}", 2, 6, "expected"), ("[]", 1, 1, "\"databases\" is missing"),
        (#"{"databases":{"x":{}}}"#, 1, 14, "\"todo\" is missing; it has \"x\": choose with --database NAME"),
        ("{\"databases\":{\"todo\":\n  7}}", 2, 3, "must be an object"),
        (
            "{\"databases\":{\"todo\":{\n \"import_filter\":\n   \"function(doc){}\"}}}", 3, 4,
            "\"import_filter\" functions are not supported"
        ),
        ("{\"databases\":{\"todo\":{\"sync\":\n 5}}}", 2, 2, "\"sync\" must be the text of a function"),
        (
            "{\"databases\":{\"todo\":{\"sync\":\n `function(d) {\n  \"x\"; let a; }`}}}", 2, 2,
            "\"sync\" is not a function in JavaScript (ES5): line 2 of the function"
        ),
        (
            "{\"databases\":{\"todo\":{\"sync\":`function(d) {\n\"x\";}`,\"javascript_timeout_secs\":-1}}}", 2, 34,
            "\"javascript_timeout_secs\" must be a number of seconds"
        ),
        ("{\"databases\":{\"todo\":{\"scopes\":{}}}}", 1, 32, "\"scopes\" must hold at least one collection"),
        (
            "{\"databases\":{\"todo\":{\"scopes\":{\"a\":{\"collections\":{\"b\":{\n\"sync\":\"f (\"}}}}}}}", 2, 8,
            "\"sync\" is not a function"
        ),
        (
            "{\"databases\":{\"todo\":{\"users\":{\"a\":{\"collection_access\":{\"s\":{\"c\":{\n\"channels\":[]}}}}}}}}",
            2, 1,
            "unknown member \"channels\""
        ),
        ("{\"databases\":{\"todo\":{\"users\":[]}}}", 1, 31, "\"users\" must be an object"),
        ("{\"databases\":{\"todo\":{\"users\":{\"a\":{\n\"password\":\"ab\"}}}}}", 2, 12, "at least 3 characters"),
        ("{\"databases\":{\"todo\":{\"users\":{\"a\":{\n\"password\":5}}}}}", 2, 12, "must be a string"),
        ("{\"databases\":{\"todo\":{\"users\":{\"a\":{\n\"pasword\":5}}}}}", 2, 1, "unknown member \"pasword\""),
        (
            "{\"databases\":{\"todo\":{\"users\":{\"a\":{\n\"admin_roles\":[\"r\"]}}}}}", 2, 15,
            "the role \"r\" is not among"
        ),
        ("{\"databases\":{\"todo\":{\"users\":{\"a\":{\n\"admin_channels\":[7]}}}}}", 2, 19, "text without commas"),
        ("{\"databases\":{\"todo\":{\"users\":{\"a\":{\n\"admin_channels\":\"A\"}}}}}", 2, 18, "a list of names"),
        ("{\"databases\":{\"todo\":{\"users\":{\n\"a:b\":{}}}}}", 2, 1, "without : / , and `"),
        ("{\"databases\":{\"todo\":{\"guest\":{\n\"disabled\":1}}}}", 2, 12, "true or false"),
    ])
    func errorsHaveTheirPosition(text: String, line: Int, column: Int, reason: String) throws {
        let error = #expect(throws: EmbeddedGateway.UsersError.self) { try parse(text) }
        #expect(error?.line == line)
        #expect(error?.column == column)
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }
}
