import Encodings
import Testing

@testable import HTTPTransport

@Suite struct RetryAfterFieldTests {
    @Test(
        arguments: [
            (["Retry-After": "7"], 7), (["Retry-After": "0"], 0), (["Retry-After": "86400"], 3600),
            (["Retry-After": "99999999999999999999"], 3600), (["Retry-After": "-7"], nil), (["Retry-After": ""], nil),
            (["Retry-After": "soon"], nil), ([:], nil),
            (["Retry-After": "Sun, 06 Nov 1994 08:50:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:37 GMT"], 60),
            (["Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 08:50:37 GMT"], 0),
            (["Retry-After": "Sun, 06 Nov 1995 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:37 GMT"], 3600),
            (["Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"], 37),
            (["Retry-After": "Sun Nov  6 08:49:37 1994", "Date": "x"], 37),
        ] as [([String: String], Int?)])
    func retryAfterIsNumberOrDate(fields: [String: String], seconds: Int?) {
        let headers = HTTPHeaders(fields.map { (name: $0.key, value: $0.value) })
        #expect(headers.retryAfter(now: HTTPDate(seconds: 784_111_740)) == seconds.map { .seconds($0) })
    }
}
