internal import ArgumentParser
internal import DocumentFlow
internal import GatewayClient
internal import Rules

/// The value of an option, with a description of valid values.
protocol OptionValue: ExpressibleByArgument {
    /// A description of valid values with an example, to complete "write …".
    static var expected: String { get }
}

extension OptionValue {
    /// For `@Option(transform:)`: the parser then prints what is expected.
    static func parse(_ text: String) throws(InvalidValue) -> Self {
        guard let value = Self(argument: text) else { throw InvalidValue(expected: expected) }
        return value
    }
}

/// An invalid value. The description says which values are valid.
struct InvalidValue: Error, CustomStringConvertible {
    let expected: String

    var description: String { "write \(expected)" }
}

/// A span of time on the command line: `500ms`, `30s`, `5m`, `2h`, `1d`.
struct TimeSpan: OptionValue, CustomStringConvertible {
    static let expected = "a whole number and its unit, ms, s, m, h or d, such as 30s or 5m"

    let duration: Duration

    init(_ duration: Duration) { self.duration = duration }

    /// In whole seconds, as on the command line.
    var description: String { "\(duration.components.seconds)s" }

    init?(argument: String) {
        let digits = argument.prefix { $0.isASCII && $0.isNumber }
        guard let count = Int64(digits), count <= 1_000_000_000 else { return nil }
        switch argument.dropFirst(digits.count) {
        case "ms": duration = .milliseconds(count)
        case "s": duration = .seconds(count)
        case "m": duration = .seconds(count * 60)
        case "h": duration = .seconds(count * 3600)
        case "d": duration = .seconds(count * 86400)
        default: return nil
        }
    }
}

/// A size on the command line, greater than 0: `24MiB`, `24M`, `512KiB`, `1GiB`, `4096B`. K, M and G are powers of
/// 1,024.
struct ByteSize: OptionValue, CustomStringConvertible {
    static let expected = "a whole number of at least 1 and its unit, KiB, MiB or GiB, such as 24MiB"

    let bytes: Int

    init(bytes: Int) { self.bytes = bytes }

    /// In whole mebibytes, as on the command line.
    var description: String { "\(bytes >> 20)MiB" }

    init?(argument: String) {
        let digits = argument.prefix { $0.isASCII && $0.isNumber }
        guard let count = Int(digits), (1...1 << 30).contains(count) else { return nil }
        switch argument.dropFirst(digits.count).lowercased() {
        case "b": bytes = count
        case "k", "kib", "kb": bytes = count << 10
        case "m", "mib", "mb": bytes = count << 20
        case "g", "gib", "gb": bytes = count << 30
        default: return nil
        }
    }
}

/// A point in time on the command line: `2026-11-20T10:00:00Z`, `2026-11-20`, or seconds since 1970.
struct PointInTimeArgument: OptionValue {
    static let expected = "a time such as 2026-11-20T10:00:00Z, a date, or seconds since 1970"

    let seconds: Int

    init?(argument: String) {
        guard let seconds = PointInTime.seconds(argument) else { return nil }
        self.seconds = seconds
    }
}

/// A number on the command line, 0 or greater.
struct Count: OptionValue {
    static let expected = "a whole number, 0 or more, such as 100"

    let number: Int

    init?(argument: String) {
        guard let number = Int(argument), number >= 0 else { return nil }
        self.number = number
    }
}

/// A percentage on the command line, 0 to 100, with at most one decimal place.
struct Percentage: OptionValue {
    static let expected = "a percentage from 0% to 100%, such as 90% or 87.5%"

    /// Tenths of a percent.
    let permille: Int

    init?(argument: String) {
        let number = argument.hasSuffix("%") ? argument.dropLast() : argument[...]
        guard let match = number.wholeMatch(of: /([0-9]{1,3})(?:\.([0-9]))?/), let whole = Int(match.1) else {
            return nil
        }
        permille = whole * 10 + (match.2.flatMap { Int($0) } ?? 0)
        guard permille <= 1000 else { return nil }
    }
}

extension ErrorLimit: OptionValue {
    static let expected = "a whole number, 0 or more, such as 10, or a percentage from 0% to 100% such as 5%"

    init?(argument: String) { self.init(argument) }
}

/// Names of channels on the command line, separated by commas. A name can't contain a comma.
struct ChannelList: OptionValue {
    static let expected = "names of channels separated by commas, such as groceries,orders"

    let names: [String]

    init?(argument: String) {
        names = argument.split(separator: ",").map { String($0.drop { $0 == " " }) }.filter { !$0.isEmpty }
        if names.isEmpty { return nil }
    }
}

/// A sequence on the command line, as a gateway prints it.
struct SequenceArgument: OptionValue {
    static let expected = "a sequence as the gateway prints it, such as 1234, 1200::1234 or 7-g1AAAA"

    let sequence: SequenceID

    init?(argument: String) {
        guard let sequence = SequenceID(argument), sequence.hasKnownForm else { return nil }
        self.sequence = sequence
    }
}
