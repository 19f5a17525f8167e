import Testing

@testable import Encodings

@Suite struct HTTPDateTests {
    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Tue, 29 Feb 2000 23:59:60 GMT", 951_868_799), ("Sat, 21 Nov 2026 10:21:15 GMT", 1_795_256_475),
        ("Thu, 31 Dec 2099 23:59:59 GMT", 4_102_444_799), ("Friday, 01-Jan-69 00:00:00 GMT", 3_124_224_000),
    ])
    func allThreeFormsAreRead(text: String, seconds: Int) {
        #expect(HTTPDate(text)?.seconds == seconds)
    }

    @Test(arguments: [
        "", "7", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT", "Thu, 29 Feb 2100 00:00:00 GMT", "Sun, 06 Now 1994 08:49:37 GMT",
        "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 99999999999999999999 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 06 Nov 1994 ::: GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1900 08:49:37 GMT",
    ])
    func invalidDatesAreNil(text: String) {
        #expect(HTTPDate(text) == nil)
    }

    /// Written dates are read back; the weekdays are those of `date -u`.
    @Test(arguments: [
        (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (1_795_256_475, "Sat, 21 Nov 2026 10:21:15 GMT"), (951_868_799, "Tue, 29 Feb 2000 23:59:59 GMT"),
        (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
    ])
    func currentFormIsWritten(seconds: Int, text: String) {
        #expect(HTTPDate(seconds: seconds).text == text)
    }
}
