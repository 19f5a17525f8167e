/// How much may go wrong before a run is stopped: something is wrong wholesale then, not with single documents.
package enum ErrorLimit: Sendable, Equatable {
    /// Dead letters.
    case count(Int)
    /// Dead letters per hundred documents that a rule fired on or that were dead-lettered.
    case percent(Double)

    /// With fewer documents than this a share says nothing yet.
    private static let sample = 100

    /// - Parameter isFinal: The run has come to its end: there is no larger sample to wait for.
    package func isExceeded(by counters: RunCounters, isFinal: Bool = false) -> Bool {
        switch self {
        case .count(let limit): return counters.deadLetters > limit
        case .percent(let limit):
            let documents = max(counters.matched, counters.deadLetters)
            guard documents >= Self.sample || isFinal else { return false }
            return Double(counters.deadLetters) * 100 > limit * Double(documents)
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
        case .percent(let limit): limit == limit.rounded() ? "\(Int(limit))%" : "\(limit)%"
        }
    }
}
