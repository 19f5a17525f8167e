internal import Foundation

/// Random damage to texts for fuzz tests; the same seed gives the same damage.
package struct Mutations: RandomNumberGenerator {
    private var random: SplitMix64
    /// Tokens of the damaged syntax, which are inserted.
    private let pieces: [[UInt8]]

    /// - Parameter pieces: Tokens of the syntax under test, inserted at random; must not be empty.
    package init(seed: UInt64, pieces: [String]) {
        random = SplitMix64(seed: seed)
        self.pieces = pieces.map { Array($0.utf8) }
    }

    /// The number of texts to try: `CHANGEBOT_FUZZ_ROUNDS` if it is set, otherwise `usual`.
    package static func rounds(_ usual: Int) -> Int {
        ProcessInfo.processInfo.environment["CHANGEBOT_FUZZ_ROUNDS"].flatMap { Int($0) } ?? usual
    }

    /// As ``SplitMix64/next()``.
    package mutating func next() -> UInt64 { random.next() }

    /// A number in `0..<limit`; `limit` must be positive.
    package mutating func below(_ limit: Int) -> Int { random.below(limit) }

    /// The text after one to four random changes.
    package mutating func damaged(_ text: [UInt8]) -> [UInt8] {
        var text = text
        for _ in 0..<1 + below(4) where !text.isEmpty {
            let place = below(text.count)
            let end = min(text.count, place + below(20))
            switch below(6) {
            case 0: text[place] = UInt8(below(256))
            case 1: text.remove(at: place)
            case 2: text.removeSubrange(place..<end)
            case 3: text.insert(contentsOf: text[place..<end], at: below(text.count))
            case 4: text.swapAt(place, below(text.count))
            default: text.insert(contentsOf: pieces[below(pieces.count)], at: place)
            }
        }
        return text
    }

    /// The text cut into slices of 1 to 60 bytes, at least half of them of 1 to 3.
    package mutating func slices(_ text: [UInt8]) -> [[UInt8]] {
        var slices: [[UInt8]] = []
        var rest = text[...]
        while !rest.isEmpty {
            slices.append(Array(rest.prefix(1 + below(below(2) == 0 ? 3 : 60))))
            rest = rest.dropFirst(slices.last?.count ?? 0)
        }
        return slices
    }
}
