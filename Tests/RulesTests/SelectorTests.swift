import LosslessJSON
import Testing

@testable import Rules

@Suite struct SelectorTests {
    @Test(arguments: [
        // Implicit operators.
        ("{}", "{}", true),
        ("{color: red}", #"{"color":"red"}"#, true),
        ("{color: red}", #"{"color":"blue"}"#, false),
        ("{color: red}", "{}", false),
        ("{size: 10}", #"{"size":1e1}"#, true),
        ("{size: 12345678901234567890}", #"{"size":12345678901234567891}"#, false),
        ("{box: {}}", #"{"box":{}}"#, true),
        ("{box: {}}", #"{"box":{"a":1}}"#, false),
        ("{box: {lid: open}}", #"{"box":{"lid":"open","depth":3}}"#, true),
        ("{box: {$eq: {lid: open}}}", #"{"box":{"lid":"open","depth":3}}"#, false),
        ("{a: 1, b: 2}", #"{"a":1,"b":2}"#, true),
        ("{a: 1, b: 2}", #"{"a":1,"b":3}"#, false),
        // Paths.
        ("{box.lid: open}", #"{"box":{"lid":"open"}}"#, true),
        (#"{box\.lid: open}"#, #"{"box.lid":"open"}"#, true),
        (#"{box\.lid: open}"#, #"{"box":{"lid":"open"}}"#, false),
        (#"{\$price: 3}"#, #"{"$price":3}"#, true),
        ("{list.1: b}", #"{"list":["a","b"]}"#, true),
        ("{list.2: {$exists: false}}", #"{"list":["a","b"]}"#, false),
        ("{list.x: {$exists: false}}", #"{"list":["a","b"]}"#, false),
        ("{word.x: {$exists: false}}", #"{"word":"w"}"#, false),
        ("{list.1: b}", #"{"list":{"1":"b"}}"#, true),
        // Existence.
        ("{a: {$exists: true}}", #"{"a":null}"#, true),
        ("{a: {$exists: false}}", #"{"a":null}"#, false),
        ("{a: {$exists: false}}", "{}", true),
        ("{$not: {a: {$exists: true}}}", "{}", true),
        // Negation still needs the field.
        ("{a: {$ne: 1}}", "{}", false),
        ("{a: {$ne: 1}}", #"{"a":2}"#, true),
        ("{a: {$nin: [1, 2]}}", "{}", false),
        ("{a: {$not: {$regex: x}}}", "{}", false),
        ("{a: {$not: {$regex: x}}}", #"{"a":"y"}"#, true),
        ("{$nor: [{a: 1}, {b: 1}]}", #"{"a":2,"b":2}"#, true),
        ("{$nor: [{a: 1}, {b: 1}]}", #"{"a":2}"#, false),
        ("{$not: {$not: {a: 1}}}", #"{"a":1}"#, true),
        // Combinations.
        ("{$or: [{a: 1}, {b: 1}]}", #"{"b":1}"#, true),
        ("{$and: [{a: 1}, {b: 1}]}", #"{"b":1}"#, false),
        ("{$or: []}", "{}", true),
        ("{$and: []}", "{}", true),
        ("{a: {$or: [{$lt: 3}, {$gt: 7}]}}", #"{"a":5}"#, false),
        ("{a: {$or: [{$lt: 3}, {$gt: 7}]}}", #"{"a":8}"#, true),
        // Lists.
        ("{a: {$in: [1, x]}}", #"{"a":"x"}"#, true),
        ("{a: {$in: [1, x]}}", #"{"a":["y","x"]}"#, true),
        ("{a: {$in: []}}", #"{"a":1}"#, false),
        ("{a: {$nin: []}}", #"{"a":1}"#, true),
        ("{a: {$all: [1, 2]}}", #"{"a":[2,3,1]}"#, true),
        ("{a: {$all: [1]}}", #"{"a":[1.0]}"#, false),
        ("{a: {$all: [[1]]}}", #"{"a":[1.0]}"#, true),
        ("{a: {$all: []}}", #"{"a":[]}"#, false),
        ("{a: {$size: 2}}", #"{"a":[1,2]}"#, true),
        ("{a: {$elemMatch: {k: 1}}}", #"{"a":[{"k":2},{"k":1}]}"#, true),
        ("{a: {$elemMatch: {$gt: 3, $lt: 5}}}", #"{"a":[1,9,4]}"#, true),
        ("{a: {$elemMatch: {k: 1}}}", #"{"a":{"k":1}}"#, false),
        ("{a: {$allMatch: {$gt: 3}}}", #"{"a":[4,5]}"#, true),
        ("{a: {$allMatch: {$gt: 3}}}", #"{"a":[]}"#, false),
        ("{a: {$keyMapMatch: {$regex: ^k}}}", #"{"a":{"key":1}}"#, true),
        ("{a: {$keyMapMatch: {$regex: ^k}}}", #"{"a":{"lock":1}}"#, false),
        // Within an element, negation is not pushed down: a missing member is enough.
        ("{a: {$elemMatch: {$not: {k: 1}}}}", #"{"a":[{}]}"#, true),
        // Other conditions.
        ("{a: {$type: object}}", #"{"a":{}}"#, true),
        ("{a: {$type: boolean}}", #"{"a":false}"#, true),
        ("{a: {$mod: [3, -1]}}", #"{"a":-7}"#, true),
        ("{a: {$mod: [7, 6]}}", #"{"a":100000000000000000000000}"#, false),
        ("{a: {$mod: [7, 5]}}", #"{"a":100000000000000000000000}"#, true),
        ("{a: {$mod: [7, 0]}}", #"{"a":7.0}"#, false),
        ("{a: {$beginsWith: ab}}", #"{"a":"abc"}"#, true),
        ("{a: {$beginsWith: ab}}", #"{"a":["abc"]}"#, false),
        ("{a: {$beginsWith: e}}", #"{"a":"e\u0301"}"#, false),
        // Order of different types, and collation.
        ("{a: {$gt: 5}}", #"{"a":"text"}"#, true),
        ("{a: {$lt: false}}", #"{"a":null}"#, true),
        ("{a: {$lt: B}}", #"{"a":"a"}"#, true),
        ("{a: apple}", #"{"a":"ap\u00ADple"}"#, true),
        (#"{a: "ap\u00ADple"}"#, #"{"a":"apple"}"#, true),
        ("{a: apple}", #"{"a":"Apple"}"#, false),
        ("{a: {$ne: apple}}", #"{"a":"ap\u00ADple"}"#, false),
        // `_id` is compared by its bytes.
        ("{_id: {$lt: a}}", #"{"_id":"B"}"#, true),
        ("{_id: apple}", #"{"_id":"ap\u00ADple"}"#, false),
        // Regular expressions look at bytes.
        ("{a: {$regex: (?i)^APPLE$}}", #"{"a":"apple"}"#, true),
        ("{a: {$regex: ppl}}", #"{"a":"apple"}"#, true),
        ("{a: {$regex: ^..$}}", #"{"a":"é"}"#, true),
        ("{a: {$regex: ^$}}", #"{"a":""}"#, true),
        (#"{a: {$regex: '^a\nb$'}}"#, #"{"a":"a\nb"}"#, true),
        ("{a: {$regex: '1'}}", #"{"a":1}"#, false),
        // The last of duplicate members decides.
        ("{a: 2}", #"{"a":1,"a":2}"#, true),
        ("{a: 1}", #"{"a":1,"a":2}"#, false),
        ("{key: 1}", #"{"\u006bey":1}"#, true),
    ])
    func matches(text: String, document: String, expected: Bool) throws {
        #expect(try selector(text).matches(JSONText(document).root, MatchScratch()) == expected, "\(text) \(document)")
    }

    @Test func explosivePatternIsAnErrorAndNotFalse() throws {
        let selector = try selector("{a: {$regex: '^(a+)+$'}}")
        let document = try JSONText(#"{"a":"\#(String(repeating: "a", count: 60))!"}"#)
        #expect(throws: MatchError.regexLimit(pattern: "^(a+)+$")) {
            try selector.matches(document.root, MatchScratch())
        }
    }

    @Test func divisionByZeroIsAnErrorForIntegers() throws {
        let selector = try selector("{a: {$mod: [0, 1]}}")
        #expect(try selector.matches(JSONText("{}").root, MatchScratch()) == false)
        #expect(throws: MatchError.divisionByZero) {
            try selector.matches(JSONText(#"{"a":1}"#).root, MatchScratch())
        }
    }

    @Test(arguments: [
        ("{$foo: 1}", "1:2: '$foo' is not an operator"),
        ("{a: {$exist: true}}", "1:6: '$exist' is not an operator: did you mean '$exists'?"),
        ("{a: {$in: 1}}", "1:11: $in takes a list of values, not 1"),
        ("{a: {$nin: x}}", "1:12: $nin takes a list of values, not text"),
        ("{a: {$all: {}}}", "1:12: $all takes a list of values, not an object"),
        ("{a: {$exists: 1}}", "1:15: $exists takes true or false, not 1"),
        ("{a: {$exists: yes}}", "1:15: $exists takes true or false, not text"),
        ("{a: {$type: 1}}", "1:13: $type takes one of null, boolean"),
        ("{a: {$size: -1}}", "1:13: $size takes a whole number of at least 0, not -1"),
        ("{a: {$size: 1.5}}", "1:13: $size takes a whole number"),
        ("{a: {$mod: [2]}}", "1:12: $mod takes a list of two whole numbers: divisor and remainder, not a list of 1"),
        ("{a: {$mod: [2.5, 1]}}", "1:12: $mod takes a list of two whole numbers"),
        ("{a: {$regex: 1}}", "1:14: $regex takes a regular expression as text, not 1"),
        ("{a: {$regex: '('}}", "1:14: '(' is not a regular expression: missing closing parenthesis"),
        ("{a: {$beginsWith: 1}}", "1:19: $beginsWith takes text"),
        ("{a: {$elemMatch: 1}}", "1:18: $elemMatch takes an object"),
        ("{a: {$allMatch: []}}", "1:17: $allMatch takes an object"),
        ("{a: {$keyMapMatch: x}}", "1:20: $keyMapMatch takes an object"),
        ("{a: {$not: 1}}", "1:12: $not takes an object"),
        ("{$and: {}}", "1:8: $and takes a list of selectors"),
        ("{$or: 1}", "1:7: $or takes a list of selectors"),
        ("{$nor: x}", "1:8: $nor takes a list of selectors"),
        ("{$text: x}", "1:2: $text needs a database index"),
        ("{a: {$where: x}}", "1:6: '$where' is not an operator here; write the condition as a jq program: if:"),
        ("{$expr: {}}", "1:2: '$expr' is not an operator here; write the condition as a jq program: if:"),
        ("{a: {$regex: x, $options: i}}", "1:17: '$options' is not an operator here; write the flags into the pattern"),
        ("{a: {$like: x}}", "1:6: '$like' is not an operator here; write a regular expression: { $regex:"),
        ("{a: {$contains: x}}", "1:6: '$contains' is not an operator here; write { $regex: part }"),
        ("{a: {$not_in: [x]}}", "1:6: '$not_in' is not an operator: did you mean '$nin'?"),
        ("{a: {$notIn: [x]}}", "1:6: '$notIn' is not an operator: did you mean '$nin'?"),
        ("{a: {$neq: x}}", "1:6: '$neq' is not an operator: did you mean '$ne'?"),
        ("{a: {$startsWith: x}}", "1:6: '$startsWith' is not an operator: did you mean '$beginsWith'?"),
        ("{$AND: [{a: 1}]}", "1:2: '$AND' is not an operator: did you mean '$and'?"),
        ("{a: {$exists: 'false'}}", "1:15: $exists takes true or false, not text; write false, in lower case and"),
        ("{a: {$exists: 0}}", "1:15: $exists takes true or false, not 0; write false"),
        ("{a: {$in: x}}", "1:11: $in takes a list of values, not text; put the values in brackets: $in: [x]"),
        ("{a: {$size: '1'}}", "1:13: $size takes a whole number of at least 0, not text; write 1, without quotes"),
        ("{a: {$not: x}}", "1:12: $not takes an object, not text; write $ne for a value"),
        ("{a: {$not: [1]}}", "1:12: $not takes an object, not a list of 1; write $nin for values, $nor for selectors"),
        ("{$default: x}", "1:2: $default needs a database index"),
        ("{a..b: 1}", "1:8: 'a..b' is not a field name"),
        ("{a.: 1}", "1:6: 'a.' is not a field name"),
        ("{a: {'': 1}}", "1:10: 'a.' is not a field name"),
        ("{'': 1}", "1:2: a condition without a field name"),
        ("{$gt: 1}", "1:2: a condition without a field name"),
        ("{$not: {}}", "1:2: a condition without a field name"),
        ("{a: {$elemMatch: {$nor: [{b: 1}]}}}", "1:19: CouchDB can't evaluate $nor inside $elemMatch"),
        ("[]", "1:1: a selector must be an object"),
    ])
    func invalidSelectorIsRefused(text: String, message: String) throws {
        let errors = SourceErrors(path: "s")
        let node = try #require(YAMLSource.read(text, errors: errors))
        #expect(SelectorReader.read(node, errors: errors) == nil)
        #expect(errors.errors.count == 1)
        let error = try #require(errors.errors.first?.description)
        #expect(error.hasPrefix("s:" + message), "\(error)")
    }

    @Test func allErrorsOfASelectorAreReported() {
        let errors = SourceErrors(path: "s")
        let node = YAMLSource.read("{a: {$in: 1, $size: x}, $or: [{b: {$foo: 1}}]}", errors: errors)
        #expect(node.flatMap { SelectorReader.read($0, errors: errors) } == nil)
        #expect(errors.errors.count == 3)
    }

    /// Compiled patterns run on a stack of fixed size. Texts that do not fit are matched by the interpreter.
    @Test func longTextsAreMatchedToTheEnd() throws {
        let selector = try selector("{a: {$regex: '^(a|b)*$'}}")
        let text = String(repeating: "ab", count: 100_000)
        #expect(try selector.matches(JSONText(#"{"a":"\#(text)"}"#).root, MatchScratch()))
        #expect(try !selector.matches(JSONText(#"{"a":"\#(text)c"}"#).root, MatchScratch()))
    }
}
