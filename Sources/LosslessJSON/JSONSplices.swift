/// Replacements of byte ranges of one text, applied together. Every edit of a document consists of them.
///
/// Bytes outside the ranges are copied unchanged.
struct JSONSplices {
    private struct Splice {
        var range: Range<Int>
        var replacement: [UInt8]
    }

    private var splices: [Splice] = []

    var isEmpty: Bool { splices.isEmpty }

    /// Ranges must not overlap. An insertion at the start of another splice's range goes before it.
    mutating func replace(_ range: Range<Int>, with replacement: [UInt8]) {
        splices.append(Splice(range: range, replacement: replacement))
    }

    mutating func insert(_ bytes: [UInt8], at offset: Int) { replace(offset..<offset, with: bytes) }

    mutating func delete(_ range: Range<Int>) { replace(range, with: []) }

    func applied(to bytes: [UInt8]) -> [UInt8] { applied(to: bytes, in: bytes.indices) }

    /// The bytes of `part` after the splices, whose ranges must all lie in it.
    func applied(to bytes: [UInt8], in part: Range<Int>) -> [UInt8] {
        let ordered = splices.enumerated().sorted { left, right in
            (left.element.range.lowerBound, left.element.range.upperBound, left.offset)
                < (right.element.range.lowerBound, right.element.range.upperBound, right.offset)
        }
        var result: [UInt8] = []
        result.reserveCapacity(
            ordered.reduce(part.count) { $0 + $1.element.replacement.count - $1.element.range.count })
        var copied = part.lowerBound
        for (_, splice) in ordered {
            precondition(copied <= splice.range.lowerBound, "splices overlap")
            result.append(contentsOf: bytes[copied..<splice.range.lowerBound])
            result.append(contentsOf: splice.replacement)
            copied = splice.range.upperBound
        }
        result.append(contentsOf: bytes[copied..<part.upperBound])
        return result
    }
}
