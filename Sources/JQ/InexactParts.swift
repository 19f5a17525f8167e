internal import LosslessJSON

/// The parts of a document that jq can't represent: numbers with more digits than a double, and unpaired surrogates.
///
/// The result of a program that uses none of them does not depend on their values. The program therefore also runs on
/// variants of the document. If the results differ, they depend on a value that jq would have got wrong.
struct InexactParts: Sendable {
    private struct Part: Sendable {
        let range: Range<Int>
        let isNumber: Bool
        /// Parts with the same text share an identity, so that equal numbers stay equal in all variants.
        let identity: Int
    }

    private let text: JSONText
    private var parts: [Part] = []
    private var identities: [ArraySlice<UInt8>: Int] = [:]

    /// Nil if jq can represent the whole document.
    init?(of text: JSONText) {
        self.text = text
        var scan = LeafScan(text.bytes)
        while let leaf = scan.next() {
            switch leaf {
            case .number(let range):
                let digits = text.bytes[range]
                guard !NumberText.isSurelyExact(digits), !NumberText(digits).isExactAsDouble else { continue }
                add(range, isNumber: true)
            case .unpairedSurrogate(let range): add(range, isNumber: false)
            }
        }
        guard !parts.isEmpty else { return nil }
    }

    private mutating func add(_ range: Range<Int>, isNumber: Bool) {
        let identity = identities[text.bytes[range]] ?? identities.count
        identities[text.bytes[range]] = identity
        parts.append(Part(range: range, isNumber: isNumber, identity: identity))
    }

    /// The number of variants besides the document itself.
    ///
    /// - Variant 1: All parts are lower.
    /// - Variant 2: All parts are higher.
    /// - Variant 3: All large numbers are 2^53 - 1. Doubles above that are never odd, and jq's `%` treats all larger
    ///   numbers as one number.
    /// - Variant 4: All numbers are strings of their digits. Arithmetic fails on them, but comparing digits as text
    ///   works.
    /// - Then one variant for each binary digit of the identities. Parts whose identity has the digit are higher, so
    ///   any two different parts differ in some variant.
    var variantCount: Int { 4 + (Int.bitWidth - (identities.count - 1).leadingZeroBitCount) }

    /// The document with its parts replaced. `number` counts from 0; -1 is the document as jq reads it.
    func variant(_ number: Int) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.bytes.count)
        var copied = 0
        for part in parts {
            result.append(contentsOf: text.bytes[copied..<part.range.lowerBound])
            result.append(contentsOf: replacement(of: part, shift(of: part, in: number)))
            copied = part.range.upperBound
        }
        result.append(contentsOf: text.bytes[copied...])
        return result
    }

    private enum Shift { case none, lower, higher, small, text }

    private func shift(of part: Part, in variant: Int) -> Shift {
        switch variant {
        case ..<0: .none
        case 0: .lower
        case 1: .higher
        case 2: .small
        case 3: .text
        default: part.identity >> (variant - 4) & 1 == 1 ? .higher : .none
        }
    }

    private func replacement(of part: Part, _ shift: Shift) -> [UInt8] {
        let bytes = text.bytes[part.range]
        // Private-use characters, and the character that jq substitutes for unpaired surrogates.
        let characters: [Shift: String] = [.lower: "\\ue0f0", .higher: "\\ue0f1"]
        guard part.isNumber else { return Array(characters[shift, default: "\\ufffd"].utf8) }
        let double = NumberText(bytes).double
        switch shift {
        case .lower: return NumberText.text(of: double.nextDown)
        case .higher: return NumberText.text(of: double.nextUp)
        case .small where double.magnitude >= 0x1p53:
            return NumberText.text(of: double < 0 ? -(0x1p53 - 1) : 0x1p53 - 1)
        case .text: return [UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")]
        case .small, .none: return Array(bytes)
        }
    }

    /// The error if the results differ. Names the first inexact number, or otherwise the first part.
    var error: JQError {
        let part = parts.first { $0.isNumber } ?? parts[0]
        let bytes = String(decoding: text.bytes[part.range].prefix(80), as: UTF8.self)
        return part.isNumber ? .inexactNumber(bytes) : .brokenCharacter(bytes)
    }
}
