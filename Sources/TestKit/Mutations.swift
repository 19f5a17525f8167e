internal import Foundation

/// Damages texts at random, the same way for the same seed.
package struct Mutations: RandomNumberGenerator {
    private var random: SplitMix64
    /// What is put in; the syntax of what is damaged.
    private let pieces: [[UInt8]]

    package init(seed: UInt64, pieces: [String]) {
        random = SplitMix64(seed: seed)
        self.pieces = pieces.map { Array($0.utf8) }
    }

    /// How many texts to try: `CHANGEBOT_FUZZ_ROUNDS` where it is set, else so many as take a moment.
    package static func rounds(_ usual: Int) -> Int {
        ProcessInfo.processInfo.environment["CHANGEBOT_FUZZ_ROUNDS"].flatMap { Int($0) } ?? usual
    }

    package mutating func next() -> UInt64 { random.next() }

    package mutating func below(_ limit: Int) -> Int { random.below(limit) }

    /// The text with up to four places changed.
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

    /// The text in pieces of random lengths, most of them short.
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
