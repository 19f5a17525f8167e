/// How many documents may fail before a run stops (`--max-errors`): more failures indicate a general problem.
package enum ErrorLimit: Sendable, Equatable {
    /// Documents that failed.
    case count(Int)
    /// Failed documents in percent, 0 to 100.
    case percent(Double)

    /// With fewer documents, a percentage is not meaningful.
    private static let minSample = 100

    /// - Parameter isFinal: Whether the run has ended. A percentage then counts, however few documents there were.
    package func isExceeded(by failures: Failures, isFinal: Bool = false) -> Bool {
        switch self {
        case .count(let limit): return failures.count > limit
        case .percent(let limit):
            guard failures.documents >= Self.minSample || isFinal else { return false }
            return Double(failures.count) * 100 > limit * Double(failures.documents)
        }
    }
}

extension ErrorLimit: CustomStringConvertible {
    /// Reads `N` or `N%`. Nil for anything else.
    package init?(_ text: String) {
        if text.hasSuffix("%") {
            guard let percent = Double(text.dropLast()), (0...100).contains(percent) else { return nil }
            self = .percent(percent)
        } else {
            guard let count = Int(text), count >= 0 else { return nil }
            self = .count(count)
        }
    }

    /// `N` or `N%`, as accepted by ``init(_:)``.
    package var description: String {
        switch self {
        case .count(let limit): "\(limit)"
        case .percent(let limit): Self.percentage(limit)
        }
    }

    /// Rounded to one decimal place.
    static func text(percent: Double) -> String { percentage((percent * 10).rounded() / 10) }

    private static func percentage(_ number: Double) -> String {
        number == number.rounded() ? "\(Int(number))%" : "\(number)%"
    }
}
