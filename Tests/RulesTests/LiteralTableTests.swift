import Testing

@testable import Rules

@Suite struct LiteralTableTests {
    private func number(_ text: String, _ table: LiteralTable) -> Int? { table.number(of: Array(text.utf8).span) }

    /// Lengths are looked at first, those from 63 on as one.
    @Test func keysOfEachLengthAreFoundAndOthersAreNot() {
        let lengths = [0, 1, 4, 62, 63, 64, 65, 300]
        let keys = lengths.map { String(repeating: "a", count: $0) }
        let table = LiteralTable(
            Dictionary(uniqueKeysWithValues: keys.enumerated().map { (Array($1.utf8), $0) }), foldsCase: false)
        for (index, key) in keys.enumerated() { #expect(number(key, table) == index) }
        for length in [2, 61, 66, 299, 301] { #expect(number(String(repeating: "a", count: length), table) == nil) }
        for length in lengths where length > 0 {
            #expect(number(String(repeating: "a", count: length - 1) + "b", table) == nil)
        }
    }

    @Test func caseIsIgnoredOnlyIfTheTableFoldsIt() {
        let keys = [Array("tea".utf8): 1]
        #expect(number("TeA", LiteralTable(keys, foldsCase: true)) == 1)
        #expect(number("TeA", LiteralTable(keys, foldsCase: false)) == nil)
        #expect(number("tea", LiteralTable(keys, foldsCase: false)) == 1)
    }

    @Test func emptyTableHasNothing() {
        #expect(number("", LiteralTable([:], foldsCase: true)) == nil)
        #expect(number("tea", LiteralTable([:], foldsCase: true)) == nil)
    }
}
