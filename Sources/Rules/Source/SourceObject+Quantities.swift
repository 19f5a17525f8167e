extension SourceObject {
    private static let units = [
        "b": 0, "k": 10, "kb": 10, "kib": 10, "m": 20, "mb": 20, "mib": 20, "g": 30, "gb": 30, "gib": 30,
    ]

    /// An optional size with its unit, from 1 byte to 1 TiB: `100MB`, `512KiB`, `100B`. K, M and G are powers of 1,024.
    func byteCount(_ name: String) -> Int? {
        guard let node = node(name) else { return nil }
        if let count = Self.byteCount(node) { return count }
        if let digits = node.digits {
            errors.report(at: node.position, "'\(name)' needs a unit; write \(digits)MB, or \(digits)B for bytes")
            return nil
        }
        errors.report(at: node.position, "'\(name)' must be a size such as 5MB or 100MB; correct it")
        return nil
    }

    private static func byteCount(_ node: SourceNode) -> Int? {
        guard let text = node.text else { return nil }
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

extension SourceNode {
    /// A number above 0 without a unit, in quotes or not. Nil for other values.
    fileprivate var digits: String? {
        let digits = if case .number(let number) = content { number } else { text ?? "" }
        return digits.contains { $0 != "0" } && digits.utf8.allSatisfy { (0x30...0x39).contains($0) } ? digits : nil
    }
}
