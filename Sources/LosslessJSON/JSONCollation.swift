internal import CICU

/// The result of a comparison; the raw values are -1, 0 and 1 as in C.
public enum JSONOrdering: Int8, Sendable {
    case less = -1
    case equal = 0
    case greater = 1

    var reversed: JSONOrdering {
        switch self {
        case .less: .greater
        case .equal: .equal
        case .greater: .less
        }
    }

    init<Value: Comparable>(_ left: Value, _ right: Value) {
        self = left < right ? .less : left > right ? .greater : .equal
    }
}

/// CouchDB's order of JSON values: null, false, true, numbers, strings, arrays, objects.
///
/// Strings are in ICU's root collation. Arrays and objects are compared element by element or member by member in the
/// order of the text; if one is a prefix of the other, the shorter is less.
///
/// - Note: Source: CouchDB 3.5 `couch_ejson_compare`; tested against recorded answers of a real server.
public enum JSONCollation {
    /// Does not recurse: walks both tapes, which list names and values in the order of comparison.
    public static func compare(_ left: JSONValue, _ right: JSONValue) -> JSONOrdering {
        var (left, right) = (left, right)
        /// The ends of the open containers. Both sides have the same number of them.
        var ends: [(left: Int, right: Int)] = []
        while true {
            let order = compareHeads(left, right)
            if order != .equal { return order }
            if left.kind >= .array { ends.append((Int(left.node.next), Int(right.node.next))) }
            let (next, other) = (left.index + 1, right.index + 1)
            while let end = ends.last, next == end.left || other == end.right {
                if next != end.left { return .greater }
                if other != end.right { return .less }
                ends.removeLast()
            }
            if ends.isEmpty { return .equal }
            left = JSONValue(text: left.text, index: next)
            right = JSONValue(text: right.text, index: other)
        }
    }

    /// The order of two scalars; `.equal` for two arrays or two objects, whose contents come next on the tape.
    private static func compareHeads(_ left: JSONValue, _ right: JSONValue) -> JSONOrdering {
        guard left.kind == right.kind else { return JSONOrdering(left.kind, right.kind) }
        return switch left.kind {
        case .null, .false, .true, .array, .object: .equal
        case .number: JSONNumber(left).compare(JSONNumber(right))
        case .string: compareStrings(left.characters, right.characters)
        }
    }

    /// Whether ``compare(_:_:)`` is `.equal`. Usually cheaper, because different printable ASCII strings are never
    /// equal under collation and need no collator.
    public static func areEqual(_ left: JSONValue, _ right: JSONValue) -> Bool {
        guard left.kind == right.kind else { return false }
        if left.isPlainASCII, right.isPlainASCII, !left.hasDelete, !right.hasDelete {
            return left.rawContent == right.rawContent
        }
        return compare(left, right) == .equal
    }

    /// Compares two strings, given as UTF-8, in ICU root collation.
    public static func compareStrings(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> JSONOrdering {
        if left.elementsEqual(right) { return .equal }
        let order = withContiguousBytes(left) { left in
            withContiguousBytes(right) { right in
                cicu_compare(
                    collator.pointer, left.baseAddress, Int32(clamping: left.count), right.baseAddress,
                    Int32(clamping: right.count))
            }
        }
        return JSONOrdering(order, 0)
    }

    private static func withContiguousBytes<Result>(
        _ bytes: some Collection<UInt8>, _ body: (UnsafeBufferPointer<CChar>) -> Result
    ) -> Result {
        bytes.withContiguousStorageIfAvailable { $0.withMemoryRebound(to: CChar.self, body) }
            ?? Array(bytes).withUnsafeBufferPointer { $0.withMemoryRebound(to: CChar.self, body) }
    }

    /// Opened at the first comparison that needs it: a process that never collates does not load ICU's data.
    private static let collator = Collator()

    private struct Collator: @unchecked Sendable {
        let pointer: UnsafeMutableRawPointer

        init() {
            guard let pointer = cicu_open_root_collator() else {
                preconditionFailure("ICU has no root collation data")
            }
            self.pointer = pointer
        }
    }
}

extension JSONValue {
    /// DEL is the only ASCII character that may appear unescaped in a string and that collation ignores.
    fileprivate var hasDelete: Bool { rawContent.contains(0x7F) }
}
