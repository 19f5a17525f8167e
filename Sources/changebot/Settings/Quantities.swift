internal import ArgumentParser
internal import Rules

/// A span of time on the command line: `500ms`, `30s`, `5m`, `2h`, `1d`; a bare number is seconds.
struct TimeSpan: ExpressibleByArgument {
    let duration: Duration

    init?(argument: String) {
        let digits = argument.prefix { $0.isASCII && $0.isNumber }
        guard let count = Int64(digits), count <= 1_000_000_000 else { return nil }
        switch argument.dropFirst(digits.count) {
        case "ms": duration = .milliseconds(count)
        case "", "s": duration = .seconds(count)
        case "m": duration = .seconds(count * 60)
        case "h": duration = .seconds(count * 3600)
        case "d": duration = .seconds(count * 86400)
        default: return nil
        }
    }
}

/// A size on the command line, not zero: `24MiB`, `24M`, `512KiB`, `1GiB`; a bare number is bytes. K, M and G are 1,024-fold.
struct ByteSize: ExpressibleByArgument {
    let bytes: Int

    init?(argument: String) {
        let digits = argument.prefix { $0.isASCII && $0.isNumber }
        guard let count = Int(digits), (1...1 << 30).contains(count) else { return nil }
        switch argument.dropFirst(digits.count).lowercased() {
        case "", "b": bytes = count
        case "k", "kib", "kb": bytes = count << 10
        case "m", "mib", "mb": bytes = count << 20
        case "g", "gib", "gb": bytes = count << 30
        default: return nil
        }
    }
}

/// A point in time on the command line: `2026-11-20T10:00:00Z`, `2026-11-20`, or seconds since 1970.
struct PointInTimeArgument: ExpressibleByArgument {
    let seconds: Int

    init?(argument: String) {
        guard let seconds = PointInTime.seconds(argument) else { return nil }
        self.seconds = seconds
    }
}
