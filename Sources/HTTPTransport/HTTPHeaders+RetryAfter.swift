package import Encodings

extension HTTPHeaders {
    /// How long the server asks to wait, at most an hour; nil if it does not ask.
    ///
    /// A date is compared with the answer's own `Date`, if it has one: the clocks of two machines may differ.
    ///
    /// - Parameter now: The local time, for answers without a date.
    /// - Note: Source: RFC 9110, section 10.2.3.
    package func retryAfter(now: @autoclosure () -> HTTPDate = .now) -> Duration? {
        guard let text = self["Retry-After"] else { return nil }
        let wait: Int
        if let date = HTTPDate(text) {
            wait = date.seconds - (self["Date"].flatMap(HTTPDate.init) ?? now()).seconds
        } else if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            // A number too large for `Int` is also a long time.
            wait = Int(text) ?? .max
        } else {
            return nil
        }
        return .seconds(min(max(0, wait), 3600))
    }
}
