internal import TestKit

/// How many processes share the work of the bot.
enum MemberCount: Equatable {
    case fixed(Int)
    /// One to three: the seed decides.
    case random

    static let limit = 8
    static let form = "a whole number from 1 to \(limit), or random"

    /// - Parameter text: Nil if it has another ``form``.
    init?(_ text: String) {
        if text == "random" {
            self = .random
        } else {
            guard let number = Int(text), (1...Self.limit).contains(number) else { return nil }
            self = .fixed(number)
        }
    }

    func number(seed: UInt64) -> Int {
        switch self {
        case .fixed(let number): return number
        case .random:
            var numbers = SplitMix64(seed: seed)
            return 1 + numbers.below(3)
        }
    }
}
