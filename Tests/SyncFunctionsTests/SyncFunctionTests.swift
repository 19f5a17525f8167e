import LosslessJSON
import TestKit
import Testing

@testable import SyncFunctions

@Suite(.limitedParallelism) struct SyncFunctionTests {
    private func run(
        _ body: String, _ document: String = "{}", parent: String? = nil,
        as user: SyncFunctionCall.Writer? = .init(name: "kim", roles: ["staff"], channels: ["!", "a"])
    ) throws -> SyncFunctionResult {
        try SyncFunction("function (doc, oldDoc) { \(body) }").call(
            SyncFunctionCall(document: Array(document.utf8), parent: parent.map { Array($0.utf8) }, user: user))
    }

    private func shown(_ expression: String, _ document: String = "{}") throws -> String? {
        try run("throw {forbidden: String(\(expression))};", document).rejection?.reason
    }

    @Test(arguments: [
        "// before\nfunction (doc) { channel('a'); }", "function (doc) { channel('a'); } // after",
        "/* before */ (function (doc) { channel('a'); }) /* after */",
    ])
    func commentsAroundTheFunctionAreAccepted(text: String) throws {
        let call = SyncFunctionCall(document: Array("{}".utf8), parent: nil, user: nil)
        #expect(try SyncFunction(text).call(call).channels == ["a"])
    }

    @Test(arguments: [
        ("function (doc) {};", 1), ("(function (doc) {}) ; // after;", 1), ("function (doc) {} /* a; */\n;;\n", 2),
    ])
    func semicolonAfterTheFunctionIsRefused(text: String, line: Int) {
        let message = "Unexpected token ; (the text must end with the function)"
        #expect(throws: SyncFunction.Refusal(message: message, line: line)) { try SyncFunction(text) }
    }

    @Test(arguments: [("console.log('a', 'b')", 2), ("console.log()", 0), ("console.error('a', doc, 5)", 3)])
    func consoleTakesOneArgument(call: String, count: Int) throws {
        let function = try SyncFunction(
            "function (doc) { try { \(call); } catch (e) { channel(String(e)); } \(call); }")
        let result = try function.call(SyncFunctionCall(document: Array("{}".utf8), parent: nil, user: nil))
        #expect(result.channels == ["RangeError: expected 1 argument(s); got \(count)"])
        #expect(result.hasFailed)
        let single = try SyncFunction(
            "function (doc) { console.log(doc.a); console.error('b'); log('c', 'd'); log(); }")
        #expect(
            try !single.call(SyncFunctionCall(document: Array("{}".utf8), parent: nil, user: nil)).hasFailed)
    }

    @Test(arguments: [
        ("9007199254740993", "9007199254740992"), ("9007199254740995", "9007199254740996"),
        ("12345678901234567890123", "1.2345678901234568e+22"), ("123456789012345", "123456789012345"),
        ("doc.n", "9007199254740992"), ("Number('9007199254740993')", "9007199254740992"),
        ("Number(' 9007199254740995 ')", "9007199254740996"), ("parseFloat('9007199254740993x')", "9007199254740992"),
        ("parseInt('-9007199254740993', 10)", "-9007199254740992"), ("Number('9007199254740993x')", "NaN"),
        ("JSON.parse('[{\"a\":9007199254740993}]')[0].a", "9007199254740992"),
        ("JSON.parse('[\"9007199254740993\"]')[0]", "9007199254740993"),
        ("new Number('9007199254740993') + 0", "9007199254740992"), ("Number.MAX_VALUE", "1.7976931348623157e+308"),
        ("(5).constructor === Number && new Number(5) instanceof Number", "true"), ("Number()", "0"),
        ("Number('0x20000000000000')", "9007199254740992"), ("parseInt('20000000000000', 16)", "9007199254740992"),
        ("typeof S$number", "undefined"), ("'use strict'.length + 'use strict'", "10use strict"),
    ])
    func largeNumbersAreRoundedToEven(expression: String, expected: String) throws {
        #expect(try shown(expression, #"{"n":9007199254740993.0}"#) == expected)
    }

    @Test(arguments: [900, 1_100, 9_900]) func deepDocumentsArePassed(depth: Int) throws {
        let document = String(repeating: #"{"a":"#, count: depth) + "null" + String(repeating: "}", count: depth)
        let body = "for (var n = 0, at = doc; at; at = at.a) n++; JSON.stringify(doc); throw {forbidden: n};"
        let result = try run(body, document)
        #expect(result.rejection?.reason == String(depth), "\(result.log)")
    }

    @Test func deepTextIsReadAndWritten() throws {
        let text =
            String(repeating: #"{"b":[null,{"__proto__":"\\\""}],"a":["#, count: 2_000) + "{}"
            + String(repeating: "]}", count: 2_000)
        let sorted =
            String(repeating: #"{"a":["#, count: 2_000) + "{}"
            + String(repeating: #"],"b":[null,{"__proto__":"\\\""}]}"#, count: 2_000)
        var document = JSONWriter()
        document.object { members in
            members.member("text", string: text)
            members.member("sorted", string: sorted)
        }
        let body = "throw {forbidden: String(JSON.stringify(JSON.parse(doc.text)) === doc.sorted)};"
        let result = try run(body, String(decoding: document.bytes, as: UTF8.self))
        #expect(result.rejection?.reason == "true", "\(result.log)")
    }

    @Test(arguments: ["[", "[}", #"{"a"}"#, #"{"a":}"#, "[1,]", "[,1]", "]", "1 2", "{1:2}", #"["a]"#, "", "[1:2]"])
    func invalidDeepJSONIsRefused(text: String) throws {
        let deep = String(repeating: "[", count: 1_500) + text + String(repeating: "]", count: 1_500)
        let expression = "(function () { try { JSON.parse(doc.t); } catch (error) { return error.name; } })()"
        var document = JSONWriter()
        document.object { $0.member("t", string: text.isEmpty ? deep + "," : deep) }
        #expect(try shown(expression, String(decoding: document.bytes, as: UTF8.self)) == "SyntaxError")
    }

    @Test func callsOfTheFunctionAreCollected() throws {
        let result = try run(
            """
            channel(doc.c); channel("x", ["y", 5, ["z"]], null);
            access("kim", ["a", 7]); access(["kim", null], "b");
            role("kim", "role:staff"); expiry(5); expiry("2030-01-01T00:00:00Z"); expiry(null);
            log("seen", doc.c);
            """, #"{"c":["a","b"]}"#)
        #expect(result.channels == ["a", "b", "x", "y"])
        #expect(result.access == [.init(users: ["kim"], names: ["a"]), .init(users: ["kim"], names: ["b"])])
        #expect(result.roles == [.init(users: ["kim"], names: ["role:staff"])])
        #expect(result.expiry.map { String(decoding: $0, as: UTF8.self) } == ["5", #""2030-01-01T00:00:00Z""#])
        #expect(result.rejection == nil && !result.hasFailed)
        #expect(result.log == ["seen a,b"])
    }

    @Test(arguments: [
        ("throw {forbidden: 'no'};", 403, "no"), ("throw {unauthorized: 'who'};", 401, "who"),
        ("throw {forbidden: ['a', 'b']};", 403, "a,b"), ("throw {forbidden: {}};", 403, "[object Object]"),
        ("reject(418, 'teapot'); throw {forbidden: 'no'};", 418, "teapot"), ("reject('403', 1);", 403, "1"),
        ("requireUser(['lee', 'ki']);", 403, "sg wrong user"), ("requireRole(null);", 403, "sg missing role"),
        ("requireAccess('*');", 403, "sg missing channel access"), ("requireAdmin();", 403, "sg admin required"),
    ])
    func writeIsRefused(body: String, status: Int, reason: String) throws {
        let result = try run(body)
        #expect(result.rejection?.status == status)
        #expect(result.rejection?.reason == reason)
        #expect(!result.hasFailed)
    }

    @Test(arguments: [
        "throw 'text';", "throw null;", "throw {forbidden: ''};", "nosuch();", "new Array(-1);",
        "throw new Error('x');",
    ])
    func otherExceptionsAreFailures(body: String) throws {
        let result = try run(body)
        #expect(result.hasFailed && result.rejection == nil)
    }

    @Test func userWhoMeetsTheRequirementsPasses() throws {
        let body = "requireUser(['lee', 'kim']); requireRole('staff'); requireAccess(['z', 'a']); channel('ok');"
        #expect(try run(body).channels == ["ok"])
        #expect(try run(body + "requireAdmin();", as: nil).rejection == nil)
        #expect(try run("requireUser('')", as: .init(name: "", roles: [], channels: [])).rejection == nil)
    }

    @Test(arguments: [
        ("doc.n", "undefined"), ("'n' in doc", "true"), ("JSON.stringify(doc.o)", #"{"a":[1,null],"b":true}"#),
        ("typeof doc.big", "string"), ("doc.big", "9007199254740993"), ("doc.two", "1.1"), ("doc.huge", "1e400"),
        ("doc.t.length", "3"), ("doc.t", "a😀"), ("Object.prototype.toString.call(doc.o.a)", "[object GoArray]"),
        ("_.isEqual({a: [1]}, {a: [1]})", "true"), ("_.uniq([1, 1, 2])", "1,2"), ("_.contains(doc.o.a, 1)", "true"),
        ("_.max([2, 9, 4]) + _.min([2, 9, 4])", "11"), ("_.pluck([{a: 1}, {a: 2}], 'a')", "1,2"),
        ("_.intersection([1, 2], [2, 3]).concat(_.difference([1, 2], [2]))", "2,1"),
        ("JSON.stringify(_.groupBy([1, 2, 3], function (n) { return n % 2; }))", #"{"0":[2],"1":[1,3]}"#),
        ("_.sortBy([3, 1, 2], function (n) { return -n; })", "3,2,1"), ("_.flatten([1, [2, [3]]])", "1,2,3"),
        ("JSON.stringify(_.omit({a: 1, b: 2}, 'a'))", #"{"b":2}"#), ("_.range(1, 7, 2)", "1,3,5"),
        ("typeof Promise + typeof Map + [].includes", "undefinedundefinedundefined"), ("oldDoc", "null"),
        ("(function () { try { nosuch(); } catch (e) { return e; } })()", "ReferenceError: 'nosuch' is not defined"),
        (
            "(function () { try { doc.x.y; } catch (e) { return e; } })()",
            "TypeError: Cannot access member 'y' of undefined"
        ),
        ("(function () { try { doc.o.a.push(1); } catch (e) { return e; } })()", "TypeError"),
    ])
    func documentReadsAsInOtto(expression: String, text: String) throws {
        let document =
            #"{"n":null,"o":{"b":true,"a":[1,null]},"big":9007199254740993,"two":1.10,"huge":1e400,"t":"a😀"}"#
        #expect(try shown(expression, document) == text)
    }

    @Test(arguments: [
        ("function (doc) { channel('a'", 2 as Int?, "end of input"), ("42", nil, "value is not an object"),
        ("({})", nil, "does not evaluate to a function"), ("function (doc) {\n  let a = 1;\n}", 2, "unterminated"),
        ("function (doc) {\n\n  const a = 1;\n}", 3, "reserved word"),
        ("function (d) { return 2 ** 3; }", 1, "token *"),
        ("function (d) { /a(?=b)/.test(d); }", 1, "<lookahead>"),
        ("function (d) { /(a)\\1/.test(d); }", 1, "<backreference>"),
        ("function (doc) {};", 1, "Unexpected token ;"), ("not a function", 1, "parse error"),
        // Syntax that Duktape accepts and the real Sync Gateway does not.
        ("function (d) {\n  access({d}, 'a'); }", 2, "token }"), ("function (d) { f({a: 1, d}); }", 1, "token }"),
        ("function (d) { var o = {d, a: 1}; }", 1, "token ,"), ("function (d) { return {get}; }", 1, "token }"),
        ("function (d) { var o = {m() {}}; }", 1, "token ("), ("function (d) { var o = {get() {}}; }", 1, "token ("),
        ("function (d) { return d ? {} : {'x'() {}}; }", 1, "token ("),
        ("function (d) { f([{[d]: 1}]); }", 1, "token ["),
        ("function (d) { var o = {a: {b: function () { return {d}; }}}; }", 1, "token }"),
    ])
    func invalidFunctionIsRefused(source: String, line: Int?, message: String) {
        let refusal = #expect(throws: SyncFunction.Refusal.self) { try SyncFunction(source) }
        #expect(refusal?.line == line)
        #expect(refusal?.message.contains(message) == true, "\(refusal?.message ?? "")")
    }

    @Test(arguments: [
        "function sync(doc) { channel('a'); }", "(function(doc) { channel('a'); })",
        "function(doc) { channel('a'); } // end",
        "function(d) { var o = {const: 1, 'default': 2}; channel(o.const ? 'a' : 'b'); }",
        "function(d) { var n = 4 / 2 / 1; /* const 2 ** 3 */ channel(/[/(?=]/.test('/') ? 'a' : 'b'); }",
        "function(d) { channel('2 ** 3 const'.length ? 'a' : \"b\\\"const \"); }",
        "function(d) { var o = {get a() { return 'a'; }, set a(v) { d = v }, 'b': {}, 5: [d], if: d,}; channel(o.a); }",
        "function(d) { if (d) { d } else { d } out: { d } switch (1) { case 1: { d } default: { channel('a') } } }",
        "function(d) { var f = d ? {a: 1} : {a: d ? {} : {b: 1}}; { d } try { d } finally { channel('a'); } }",
        "function(d) { for (var k in {a: 1}) { channel(k); } do { d } while (false); { d, d; } }",
        // otto ignores the directive.
        "function(d) { 'use strict'; undeclared = 'a'; channel(undeclared); }",
        "function(d) { var f = function () { \"use strict\"; return this; }; channel(f() ? 'a' : 'b'); }",
    ])
    func syntaxOfOttoIsAccepted(source: String) throws {
        let result = try SyncFunction(source).call(SyncFunctionCall(document: Array("{}".utf8), parent: nil, user: nil))
        #expect(result.channels == ["a"])
    }

    @Test func functionThatHangsOrUsesTooMuchMemoryFailsOneCall() throws {
        var limits = SyncFunction.Limits()
        limits.time = .milliseconds(200)
        limits.memory = 48 << 20
        let function = try SyncFunction(
            """
            function (doc) {
                if (doc.hang) try { while (true) {} } catch (e) {}
                if (doc.eat) { var all = []; while (true) all.push(new Array(100000).join('x' + all.length)); }
                if (doc.deep) (function f() { f(); })();
                channel('fine');
            }
            """, limits: limits)
        func call(_ document: String) throws -> SyncFunctionResult {
            try function.call(SyncFunctionCall(document: Array(document.utf8), parent: nil, user: nil))
        }
        #expect(throws: SyncFunction.Failure.timedOut) { try call(#"{"hang":1}"#) }
        #expect(try call("{}").channels == ["fine"])
        let eaten = try? call(#"{"eat":1}"#)
        #expect(eaten?.hasFailed ?? true)
        #expect(try call(#"{"deep":1}"#).hasFailed)
        #expect(try call("{}").channels == ["fine"])
    }
}
