internal import Glibc

enum HTTPDate {
    static func now() -> String { text(time(nil)) }

    /// - Parameter seconds: Since 1970.
    /// - Note: Source: RFC 9110, section 5.6.7.
    static func text(_ seconds: Int) -> String {
        var time = seconds
        var parts = tm()
        gmtime_r(&time, &parts)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
            guard let start = text.baseAddress else { return "" }
            strftime(start, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
            return String(cString: start)
        }
    }
}
