internal import LosslessJSON
internal import Testing

@Suite struct JSONMistakeTests {
    /// What to do about the first error of a text. Nil if it has none, or no cause is probable.
    private func remedy(_ text: [UInt8]) -> String? {
        do throws(JSONError) {
            _ = try JSONText(text)
            return nil
        } catch { return JSONMistake.remedy(for: error, in: text) }
    }

    @Test(arguments: [
        ("{'a':1}", "write double quotes instead"),
        (#"{"a":'b'}"#, "write double quotes instead"),
        ("{\u{201C}a\":1}", "write straight double quotes instead of typographic ones"),
        (#"{"a": «b»}"#, "write straight double quotes instead of typographic ones"),
        ("{\"a\":\u{2018}b\u{2019}}", "write straight double quotes instead of typographic ones"),
        ("{a:1}", "put member names in double quotes"),
        ("{1:1}", "put member names in double quotes"),
        (#"{"a":1,}"#, "remove the comma before it"),
        ("[1,\n]", "remove the comma before it"),
        ("[1,,2]", "remove the comma"),
        (#"{,"a":1}"#, "remove the comma"),
        ("{},", "remove it: only documents in [ ] have commas between them"),
        ("{}}", "remove it, or add the opening bracket that belongs to it"),
        (#"{"a":1 "b":2}"#, "add the missing comma before it"),
        ("[{}{}]", "add the missing comma before it"),
        (#"{"a":}"#, "add a value, such as null"),
        (#"{"a":,"b":1}"#, "add a value, such as null"),
        (#"{"a"=1}"#, "write ':' instead"),
        ("{} // c", "remove the comment: JSON has none"),
        ("# c\n{}", "remove the comment: JSON has none"),
        (#"{"a": /* c */ 1}"#, "remove the comment: JSON has none"),
    ])
    func punctuationOfOtherNotationsHasARemedy(text: String, expected: String) {
        #expect(remedy(Array(text.utf8)) == expected)
    }

    @Test(arguments: [
        ("NaN", "JSON has no such number: write null, or leave out the member"),
        ("-Infinity", "JSON has no such number: write null, or leave out the member"),
        ("True", "write it in lower case"),
        ("NULL", "write it in lower case"),
        ("None", "write null"),
        ("undefined", "write null"),
        ("nul", "write true, false and null in lower case, and text in double quotes"),
        ("u'x'", "write double quotes without 'u'"),
        ("high", "put text in double quotes"),
        ("ISODate(\"2026-01-01\")", "this is the notation of MongoDB's shell; export the data with mongoexport"),
        (".5", "begin numbers with a digit or '-', as 0.5"),
        ("5.", "add a digit after the point, or remove the point"),
        ("007", "remove the zeros at the beginning of the number"),
        ("1_000", "write numbers without separators and units"),
        ("5kg", "write numbers without separators and units"),
        (#""a "b" c""#, #"write a quote that is part of a text as \""#),
        ("\"a\tb\"", #"write a tab in a text as \t"#),
        ("\"a\nb\"", #"write a line break in a text as \n, or add the missing quote"#),
        ("\"a\u{1}b\"", #"write it as \u0001"#),
        (#""C:\data""#, #"write each backslash of a text twice, as \\"#),
    ])
    func valuesOfOtherNotationsHaveARemedy(value: String, expected: String) {
        #expect(remedy(Array("{\"a\":\(value)}".utf8)) == expected)
    }

    @Test func otherFilesAreNamed() {
        #expect(remedy(Array("<html>".utf8)) == "this is HTML or XML; save the data as JSON")
        #expect(remedy([0x22, 0xFF, 0x22]) == "save the text as UTF-8")
        #expect(
            remedy(Array(#"{"a":"#.utf8))
                == "it was cut off, or a closing bracket or quote is missing: complete it")
    }

    @Test(arguments: [#"{"a":^}"#, "@", "[1;2]"])
    func unknownMistakesHaveNoRemedy(text: String) { #expect(remedy(Array(text.utf8)) == nil) }

    /// Any byte may follow any other: the text around an error never ends the process.
    @Test func everyPairOfBytesIsJudged() {
        for prefix in [
            [], Array("{\"a\":1".utf8), Array("{\"a\":".utf8), Array("[".utf8), Array("[1,".utf8), Array("{".utf8),
        ] {
            for first in UInt8.min...UInt8.max {
                for second in [0x00, 0x20, 0x22, 0x27, 0x2C, 0x2F, 0x61, 0x7D, 0x80, 0xFF] as [UInt8] {
                    _ = remedy(prefix + [first])
                    _ = remedy(prefix + [first, second])
                }
            }
        }
    }
}
