import Encodings
import Testing

/// Numbers with nouns.
@Suite struct CountTests {
    @Test(arguments: [(0, "0 bytes"), (1, "1 byte"), (2, "2 bytes"), (-1, "-1 bytes")])
    func countHasSingularOrPluralNoun(number: Int, text: String) {
        #expect(number.counted("byte") == text)
    }
}
