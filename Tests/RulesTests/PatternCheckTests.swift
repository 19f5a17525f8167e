import Testing

@testable import Rules

@Suite struct PatternCheckTests {
    @Test(arguments: [
        (
            "^apple|coffee$",
            "3:33: warning: rule 'a': '^' applies only to the first alternative, '$' only to the last"
        ),
        ("(?i)^apple|coffee", "'^' applies only to the first alternative; put parentheses around them"),
        ("apple|coffee$", "'$' applies only to the last alternative"),
        ("(?i)café", "(?i) has no effect on them; write both: (é|É)"),
        ("[éè]t", "a class […] matches only one of them"),
        ("é+", "a quantifier repeats only the last one"),
        ("^ü.$", "'.' matches only one of them"),
        ("^(a+)+$", "a repeat inside a repeat"),
        ("(?:x|\\w*)*y", "a repeat inside a repeat"),
        ("^(a(b+c?)*)$", "a repeat inside a repeat"),
        ("(?<n>\\s*\\d+)+x", "a repeat inside a repeat"),
        ("/^apple$/", "the slashes in '/^apple$/' are part of the pattern; write '^apple$'"),
        ("/apple/i", "write '(?i)apple'"),
        (".png$", "the '.' before 'png' matches any character; write '\\.png'"),
        ("^image.(?:png|jpg)$", "the '.' before '(png…)' matches any character"),
        ("", "an empty pattern matches every string"),
    ])
    func likelyMistakesAreReported(pattern: String, warning: String) throws {
        let found = try selectorWarnings("{a: {$regex: '\(pattern)'}}")
        #expect(found.count == 1 && found.allSatisfy { $0.contains(warning) }, "\(found)")
    }

    @Test(arguments: [
        "^(apple|coffee)$", "(?i)^(apple|coffee|potatoes)$", "^a|^b", "a$|b$", "apple|coffee", "^\\s|\\s$", "^$|^x$",
        "(^a)|(b$)", "café", "(?i)cafe", "^.*ü.+$", "(*UTF)(?i)[éü].$", "\\.png$", "[.]png$", "^.{3}$", ".", "^.*$",
        "(ab+)+", "(a+,)*", "(?:\\d+-)+x", "(a++)+", "(?>a+)+", "(a?b)*", "/images/", "^/a/b$", "/home/user/i", "^a.b$",
        "[(]a+[)]+", "\\Q(a+)+\\E", "(?#(a+)+)x", "(?x) ( a+ )+ b", "x{2,}", "a{,}", "[[:alpha:]|]+", "[]|^]$",
        "(?i:a)|b",
        "(?<=a+b)c|d", "(?|a|b)", "\\p{L}+", "(?(1)a|b)(c)", "(?P<y>[0-9]{4})-(?'m'[0-9]+)",
    ])
    func validPatternsAreAccepted(pattern: String) throws {
        #expect(PatternCheck.messages(pattern) == [])
    }

    /// Every prefix of every pattern: reading the outline always ends.
    @Test func outlineOfAnyTextTerminates() {
        let patterns = [
            "(?<n>[[:alpha:]\\]x]{2,3}+|\\Qa\\E(?(1)b|c)(?i-x:d)*?(?P>n)\\k<n>(*F)(?#c)", "a{1,2}{3}|\\x{e9}[^]]",
        ]
        for pattern in patterns {
            for length in 0...pattern.count {
                let outline = PatternOutline(String(pattern.prefix(length)))
                #expect(outline?.alternatives.isEmpty != true)
            }
        }
    }
}
