/// The lines that occur exactly once in each of two texts, as many of them as are in the same order.
///
/// - Note: Source: Bram Cohen's diff of unique lines: the longest increasing sequence of positions.
struct UniqueCommonLines {
    typealias Pair = (old: Int, new: Int)

    /// In order.
    let pairs: [Pair]

    init(_ old: ArraySlice<String>, _ new: ArraySlice<String>) {
        let positions = Self.uniquePositions(new)
        let unique = Self.uniquePositions(old).compactMap { line, position in
            positions[line].map { (old: position, new: $0) }
        }
        pairs = Self.longestIncreasing(unique.sorted { $0.old < $1.old })
    }

    private static func uniquePositions(_ lines: ArraySlice<String>) -> [ExactString: Int] {
        var positions: [ExactString: Int?] = [:]
        for (index, line) in zip(lines.indices, lines) {
            let key = ExactString(line)
            positions[key] = positions[key] == nil ? .some(index) : .some(nil)
        }
        return positions.compactMapValues(\.self)
    }

    /// - Parameter pairs: In order of `old`.
    private static func longestIncreasing(_ pairs: [Pair]) -> [Pair] {
        /// For each length, the index of the pair with the smallest `new` that ends a sequence of this length.
        var ends: [Int] = []
        var previous = [Int?](repeating: nil, count: pairs.count)
        for (index, pair) in pairs.enumerated() {
            var (low, high) = (0, ends.count)
            while low < high {
                let middle = (low + high) / 2
                if pairs[ends[middle]].new < pair.new { low = middle + 1 } else { high = middle }
            }
            previous[index] = low > 0 ? ends[low - 1] : nil
            if low == ends.count { ends.append(index) } else { ends[low] = index }
        }
        var result: [Pair] = []
        var next = ends.last
        while let index = next {
            result.append(pairs[index])
            next = previous[index]
        }
        return result.reversed()
    }
}
