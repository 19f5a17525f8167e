import LosslessJSON
import Testing

@testable import Rules

@Suite struct SourceTests {
    private func yaml(_ text: String) -> (json: String?, errors: [String]) {
        let errors = SourceErrors(path: "f")
        let node = YAMLSource.read(text, errors: errors)
        return (node.map { String(decoding: $0.json, as: UTF8.self) }, errors.errors.map(\.description))
    }

    @Test(arguments: [
        ("on", #""on""#), ("yes", #""yes""#), ("No", #""No""#), ("12:30", #""12:30""#),
        ("2026-11-20", #""2026-11-20""#), ("2026-11-20T10:00:00Z", #""2026-11-20T10:00:00Z""#),
        ("true", "true"), ("False", "false"), ("TRUE", "true"), ("tRUE", #""tRUE""#),
        ("null", "null"), ("~", "null"), ("", "null"), ("nULL", #""nULL""#),
        ("1.10", "1.10"), ("+1", "1"), (".5", "0.5"), ("-.5", "-0.5"), ("010", "10"), ("-007", "-7"), ("0", "0"),
        ("00", "0"), ("5.", "5.0"), ("1e3", "1e3"), ("1.E+3", "1.0E+3"), ("1e", #""1e""#), ("-x", #""-x""#),
        ("1_000", #""1_000""#), (".", #"".""#), ("-0", "-0"), ("12345678901234567890123", "12345678901234567890123"),
        ("0o17", "15"), ("0x1F", "31"), ("0o8", #""0o8""#), ("0x", #""0x""#), ("0b1", #""0b1""#),
        ("'1'", #""1""#), (#""true""#, #""true""#), ("!!str 1", #""1""#), ("! 1", #""1""#), ("!!int 010", "10"),
        ("!!float 1", "1"), (#"!!int "7""#, "7"), ("+.nan", #""+.nan""#),
    ])
    func scalarsFollowTheCoreSchema(text: String, json: String) {
        let result = yaml("v: " + text)
        #expect(result.json == #"{"v":\#(json)}"#, "\(result.errors)")
    }

    @Test(arguments: [
        ("a: .inf", "f:1:4: '.inf' is not a JSON number"),
        ("a: -.INF", "f:1:4: '-.INF' is not a JSON number"),
        ("a: .nan", "f:1:4: '.nan' is not a JSON number"),
        ("a: 0xFFFFFFFFFFFFFFFFF", "f:1:4: '0xFFFFFFFFFFFFFFFFF' is longer than 64 bits"),
        ("a: !!int x", "f:1:4: 'x' can't be read as the tag"),
        ("a: !!int 1.5", "f:1:4: '1.5' can't be read as the tag"),
        ("a: !thing x", "f:1:4: 'x' can't be read as the tag '!thing'"),
        ("a: !!binary aGk=", "f:1:4: 'aGk=' can't be read as the tag"),
        ("a: !thing {b: 1}", "f:1:4: the tag '!thing' is not supported here"),
        ("a: !!set {b: 1}", "f:1:4: the tag"),
        ("a: !!omap [b]", "f:1:4: the tag"),
        ("a: 1\nb: 2\na: 3", "f:1:1: the key 'a' appears twice"),
        ("'1': x\n1: y", "f:1:1: the key '1' appears twice"),
        ("x: {b: 1, b: 2}", "f:1:5: the key 'b' appears twice"),
        ("a: &x [*x]", "f:1:8: the alias (*name) has no anchor"),
        ("a: *x", "f:1:4: the alias (*name) has no anchor"),
        (
            "a: 1\n---\nb: 2",
            "f:2:1: a second YAML document begins here, but a file can have only one; remove the '---'"
        ),
        ("? [a]\n: 1", "f:1:3: a key must be text"),
        ("a: [1", "f:2:1: not YAML"),
        (#"a: "\d""#, "f:1:5: not YAML: found unknown escape character; in double quotes \\ begins an escape"),
        ("a: 1\n b: 2", "f:2:3: not YAML: mapping values are not allowed in this context; indent it like"),
        ("a: 1\nb", "f:3:1: not YAML: could not find expected ':'; write 'key: value'"),
        ("a:\n\t- x", "f:2:1: not YAML: found character that cannot start any token; indent with spaces, not tabs"),
        ("a: @x", "f:1:4: not YAML"),
        ("", "f:1:1: the file is empty"),
        ("# nothing\n", "f:1:1: the file is empty"),
    ])
    func invalidYAMLIsRefused(text: String, message: String) {
        let result = yaml(text)
        // The first value of a duplicate key is still read.
        #expect(result.json == nil || message.contains("appears twice"))
        #expect(result.errors.count == 1)
        #expect(result.errors.first?.hasPrefix(message) == true, "\(result.errors)")
    }

    @Test func aliasesAreExpandedAndMergeKeysRefused() {
        #expect(yaml("a: &x {k: 1}\nb: *x\n'<<': *x").json == #"{"a":{"k":1},"b":{"k":1},"<<":{"k":1}}"#)
        let merged = yaml("a: &x {k: 1}\n<<: *x")
        #expect(merged.json == nil)
        #expect(merged.errors.map { $0.prefix(11) } == ["f:2:1: merg"], "\(merged.errors)")
    }

    @Test func aliasBombIsAnError() {
        var text = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n"
        for level in 1...12 {
            let aliases = Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ",")
            text += "a\(level): &a\(level) [\(aliases)]\n"
        }
        let errors = yaml(text).errors
        #expect(errors.count == 1)
        #expect(errors.first?.contains("with its aliases expanded, the file has more than 200000 values") == true)
    }

    @Test func manyValuesWithoutAliasesAreDividedIntoFiles() {
        let errors = yaml("a: [\(Array(repeating: "1", count: 200_001).joined(separator: ","))]").errors
        #expect(errors.first?.contains("the file has more than 200000 values; split it into several files") == true)
        #expect(errors.first?.contains("alias") == false)
    }

    @Test(arguments: [257, 900, 5_000, 200_000])
    func depthIsLimited(depth: Int) {
        let nested = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        #expect(yaml(nested).errors.count == 1)
        let errors = SourceErrors(path: "f")
        #expect(JSONSource.read(Array(nested.utf8), errors: errors) == nil)
        #expect(errors.errors.count == 1)
    }

    @Test func positionsCountScalarsFromOne() throws {
        let text = "{\n  \"é\": \"ü\", \"list\": [1,\n   {\"k\": null}]\n}"
        for read in [{ YAMLSource.read(text, errors: $0) }, { JSONSource.read(Array(text.utf8), errors: $0) }] {
            let root = try #require(read(SourceErrors(path: "f")))
            guard case .object(let members) = root.content, case .list(let elements) = members[1].value.content else {
                Issue.record("not an object")
                continue
            }
            #expect(root.position == SourcePosition(line: 1, column: 1))
            #expect(members[0].position == SourcePosition(line: 2, column: 3))
            #expect(members[0].value.position == SourcePosition(line: 2, column: 8))
            #expect(members[1].position == SourcePosition(line: 2, column: 13))
            #expect(elements[1].position == SourcePosition(line: 3, column: 4))
        }
    }

    @Test(arguments: [
        (#"{"a":1,"a":2}"#, "f:1:8: the key 'a' appears twice"),
        (#"{"a":1,"\u0061":2}"#, "f:1:8: the key 'a' appears twice"),
        ("{\n  \"a\": ]\n}", "f:2:8: not JSON: expected a value, found ']'"),
        (#"{"a": "\ud800"}"#, "f:1:7: half of a surrogate pair"),
        (#"{"a": 01}"#, "f:1:8: not JSON"),
        ("", "f:1:1: not JSON"),
        ("{} x", "f:1:4: not JSON"),
    ])
    func invalidJSONIsRefused(text: String, message: String) {
        let errors = SourceErrors(path: "f")
        #expect(JSONSource.read(Array(text.utf8), errors: errors) == nil || message.contains("appears twice"))
        #expect(errors.errors.count == 1)
        #expect(errors.errors.first?.description.hasPrefix(message) == true, "\(errors.errors)")
    }

    @Test func jsonKeepsItsNumbersAndCharacters() throws {
        let text = #"{"n":[1.10,12345678901234567890123,1E+2,-0],"s":"\u00e9\ud83d\ude00\n","b":[true,false,null]}"#
        let node = try #require(JSONSource.read(Array(text.utf8), errors: SourceErrors(path: "f")))
        #expect(
            String(decoding: node.json, as: UTF8.self)
                == "{\"n\":[1.10,12345678901234567890123,1E+2,-0],\"s\":\"é😀\\n\",\"b\":[true,false,null]}")
    }
}
