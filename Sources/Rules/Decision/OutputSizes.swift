internal import JQ
internal import LosslessJSON

/// The memory for the effects of documents that are decided together.
package struct EffectMemory {
    /// In bytes.
    let limit: Int
    /// Whether a document, by its index, may exceed it. Such a document is decided alone.
    let mayExceed: (Int) -> Bool

    package init(limit: Int, mayExceed: @escaping (Int) -> Bool) {
        (self.limit, self.mayExceed) = (limit, mayExceed)
    }

    package static var unlimited: EffectMemory { EffectMemory(limit: .max) { _ in true } }
}

/// The sizes of programs' outputs so far, which predict those of the next programs.
struct OutputSizes {
    /// The growth of the number of calls while outputs are small.
    private static let growth = 4
    /// The calls of the first round trip.
    private static let initialCallCount = 8

    /// The average size of the last outputs.
    private var average = 0
    private var maxCalls = initialCallCount

    /// How many programs may run in one round trip, so that their outputs probably take at most twice `limit` bytes.
    func callCount(within limit: Int) -> Int {
        guard limit < .max else { return .max }
        return max(1, min(maxCalls, 2 * limit / max(1, average)))
    }

    /// - Parameters:
    ///   - sizes: The calls of a round trip, and the size of their outputs.
    ///   - count: How many calls were allowed.
    mutating func note(_ sizes: (calls: Int, bytes: Int), of count: Int) {
        guard sizes.calls > 0 else { return }
        average = max(sizes.bytes / sizes.calls, average / 2)
        if sizes.calls >= maxCalls, maxCalls <= Int.max / Self.growth { maxCalls *= Self.growth }
    }
}

extension JQOutcome {
    /// The size of the outputs.
    var byteCount: Int {
        guard case .outputs(let texts) = self else { return 0 }
        return texts.reduce(0) { $0 + $1.bytes.count }
    }
}
