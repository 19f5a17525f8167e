import Testing

@testable import Rules

/// The numbers of counts and sums.
@Suite struct DecimalAmountTests {
    @Test(arguments: [
        ("0", "0"), ("-0", "0"), ("1", "1"), ("-3", "-3"), ("0.5", "0.5"), ("-0.25", "-0.25"), ("1.10", "1.1"),
        ("1e3", "1000"), ("12.5E-1", "1.25"), ("1e+2", "100"), ("0.000000000001", "0.000000000001"),
        ("0.0000000000005", "0.000000000001"), ("-0.0000000000005", "-0.000000000001"),
        ("0.00000000000049", "0"), ("0.30000000000000004", "0.3"), ("9999999999999999", "9999999999999999"),
        ("1e-999999999999999999999", "0"), ("0e999999999999999999999", "0"), ("0.99999999999999", "1"),
        ("9.5e-13", "0.000000000001"),
    ])
    func numberIsParsedAndPrinted(number: String, text: String) {
        let amount = DecimalAmount(number: number.utf8)
        #expect(amount?.description == text)
        #expect(amount.flatMap { DecimalAmount(total: $0.description) } == amount)
    }

    @Test(arguments: ["10000000000000000", "-1e16", "1e999999999999999999999", "123456789012345678901234567890"])
    func tooLargeNumberIsRefused(number: String) { #expect(DecimalAmount(number: number.utf8) == nil) }

    @Test func sumsAreExact() throws {
        let (tenth, fifth) = (
            try #require(DecimalAmount(number: "0.1".utf8)), try #require(DecimalAmount(number: "0.2".utf8))
        )
        #expect((tenth + fifth).description == "0.3")
        #expect((tenth + fifth - fifth - tenth) == .zero)
        let most = try #require(DecimalAmount(number: "9999999999999999.999999999999".utf8))
        let total = (0..<1000).reduce(DecimalAmount.zero) { sum, _ in sum + most }
        #expect(total.description == "9999999999999999999.999999999")
        #expect(DecimalAmount(total: total.description) == total)
    }

    @Test(arguments: ["", "x", ",", "-"]) func invalidTotalIsRefused(text: String) {
        #expect(DecimalAmount(total: text) == nil)
    }
}
