internal import Glibc

enum HTTPDate {
    /// - Note: Source: RFC 9110, section 5.6.7.
    static func now() -> String {
        var time = time(nil)
        var parts = tm()
        gmtime_r(&time, &parts)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
            guard let start = text.baseAddress else { return "" }
            strftime(start, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
            return String(cString: start)
        }
    }
}
