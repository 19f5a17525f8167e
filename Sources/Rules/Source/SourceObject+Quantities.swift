extension SourceObject {
    private static let units = [
        "": 0, "b": 0, "k": 10, "kb": 10, "kib": 10, "m": 20, "mb": 20, "mib": 20, "g": 30, "gb": 30, "gib": 30,
    ]

    /// An optional size, from 1 byte to 1 TiB: `100MB`, `512KiB`, or a number of bytes. K, M and G are powers of 1,024.
    func byteCount(_ name: String) -> Int? {
        guard let node = node(name) else { return nil }
        if let count = Self.byteCount(node) { return count }
        errors.report(at: node.position, "'\(name)' must be a size such as 5MB or 100MB; correct it")
        return nil
    }

    private static func byteCount(_ node: SourceNode) -> Int? {
        let text: String
        switch node.content {
        case .number(let digits): text = digits
        case .string(let string): text = string
        default: return nil
        }
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int(digits), (1...1 << 40).contains(number),
            let shift = units[text.dropFirst(digits.count).drop { $0 == " " }.lowercased()],
            number <= (1 << 40) >> shift
        else { return nil }
        return number << shift
    }

    private static let spans = ["ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000]

    /// An optional duration, from 1 ms to 30 days: `500ms`, `30s`, `5m`, `2h`, `1d`.
    func duration(_ name: String) -> Duration? {
        guard let node = node(name) else { return nil }
        if let text = node.text {
            let digits = text.prefix { $0.isASCII && $0.isNumber }
            if let number = Int(digits), number <= 1 << 32, let unit = Self.spans[String(text.dropFirst(digits.count))],
                (1...30 * 86_400_000).contains(number * unit)
            {
                return .milliseconds(number * unit)
            }
        }
        errors.report(at: node.position, "'\(name)' must be a time with its unit, such as 30s or 5m; correct it")
        return nil
    }

    /// The optional `timeout` of an exchange with a server, at most 5 minutes.
    ///
    /// - Parameter usually: The default.
    func exchangeTimeout(usually: Duration) -> Duration {
        guard let node = node("timeout"), let span = duration("timeout") else { return usually }
        if span > .seconds(300) { errors.report(at: node.position, "'timeout' is at most 5m; lower it") }
        return span
    }
}
