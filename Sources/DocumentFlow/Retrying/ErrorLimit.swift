/// How much may go wrong before a run is stopped: something is wrong wholesale then, not with single documents.
package enum ErrorLimit: Sendable, Equatable {
    /// Documents that failed.
    case count(Int)
    /// Documents that failed, of a hundred.
    case percent(Double)

    /// With fewer documents than this a share says nothing yet.
    private static let sample = 100

    /// - Parameter isFinal: The run has come to its end: there is no larger sample to wait for.
    package func isExceeded(by failures: Failures, isFinal: Bool = false) -> Bool {
        switch self {
        case .count(let limit): return failures.count > limit
        case .percent(let limit):
            guard failures.documents >= Self.sample || isFinal else { return false }
            return Double(failures.count) * 100 > limit * Double(failures.documents)
        }
    }
}

extension ErrorLimit: CustomStringConvertible {
    /// `N` or `N%`.
    package init?(_ text: String) {
        if text.hasSuffix("%") {
            guard let percent = Double(text.dropLast()), (0...100).contains(percent) else { return nil }
            self = .percent(percent)
        } else {
            guard let count = Int(text), count >= 0 else { return nil }
            self = .count(count)
        }
    }

    package var description: String {
        switch self {
        case .count(let limit): "\(limit)"
        case .percent(let limit): Self.percentage(limit)
        }
    }

    /// To the tenth.
    static func text(percent: Double) -> String { percentage((percent * 10).rounded() / 10) }

    private static func percentage(_ number: Double) -> String {
        number == number.rounded() ? "\(Int(number))%" : "\(number)%"
    }
}
