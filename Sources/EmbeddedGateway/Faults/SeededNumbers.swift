/// Random numbers that depend only on the seed, in every version of Swift.
///
/// - Note: Source: Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators (SplitMix64).
struct SeededNumbers: Sendable {
    private var state: UInt64
    private static let step: UInt64 = 0x9E37_79B9_7F4A_7C15

    /// - Parameters:
    ///   - fault: The fault's position in its plan.
    ///   - request: The request's number among those that match the fault.
    init(seed: UInt64, fault: Int, request: Int) {
        state = Self.mixed(Self.mixed(seed &+ Self.step) ^ UInt64(fault)) ^ UInt64(request)
    }

    private static func mixed(_ value: UInt64) -> UInt64 {
        var value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    private mutating func next() -> UInt64 {
        state &+= Self.step
        return Self.mixed(state)
    }

    /// From 0 to below 1.
    mutating func share() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// - Precondition: The range does not span all integers.
    mutating func number(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.count))
    }

    mutating func shuffle<Element>(_ list: inout [Element]) {
        guard list.count > 1 else { return }
        for last in (1..<list.count).reversed() { list.swapAt(last, number(in: 0...last)) }
    }
}
