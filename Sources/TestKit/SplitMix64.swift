/// Random numbers for tests: the same seed gives the same sequence.
package struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    /// Any seed works, including 0.
    package init(seed: UInt64) { state = seed }

    /// One step of SplitMix64 (Steele, Lea and Flood, 2014).
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// A number in `0..<limit`; `limit` must be positive.
    package mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }
    /// True once in `one` calls, on average.
    package mutating func chance(_ one: Int) -> Bool { below(one) == 0 }
    /// A random element; `elements` must not be empty.
    package mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
}
