package import Encodings

extension HTTPHeaders {
    /// How long the server asks to wait, an hour at most; nil if it does not.
    ///
    /// A date is compared with that of the answer itself, where it has one: the clocks of two machines need not agree.
    ///
    /// - Parameter now: The time here, for answers without a date.
    /// - Note: Source: RFC 9110, section 10.2.3.
    package func retryAfter(now: @autoclosure () -> HTTPDate = .now) -> Duration? {
        guard let text = self["Retry-After"] else { return nil }
        let wait: Int
        if let date = HTTPDate(text) {
            wait = date.seconds - (self["Date"].flatMap(HTTPDate.init) ?? now()).seconds
        } else if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            // Too many digits for a number are a long time too.
            wait = Int(text) ?? .max
        } else {
            return nil
        }
        return .seconds(min(max(0, wait), 3600))
    }
}
