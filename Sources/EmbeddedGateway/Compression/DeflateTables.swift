/// What the symbols of lengths and distances stand for.
///
/// - Note: Source: RFC 1951, sections 3.2.5 and 3.2.7.
enum DeflateTables {
    static let lengthBits = [
        0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
    ]
    static let lengths = bases(lengthBits.dropLast(), from: 3) + [258]
    static let distanceBits = [
        0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13,
    ]
    static let distances = bases(distanceBits[...], from: 1)
    /// The order in which the lengths of the code of lengths stand.
    static let codeOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

    /// The lowest value of each symbol.
    private static func bases(_ bits: ArraySlice<Int>, from first: Int) -> [Int] {
        var next = first
        return bits.map { count in
            defer { next += 1 << count }
            return next
        }
    }
}
