internal import Encodings
internal import LosslessJSON

/// When a leaf was last updated, according to one of its members: a date as text, or a number.
enum LeafDate {
    case time(seconds: Int, fraction: String)
    case number(JSONValue)
    /// A value that is no date, such as `20.11.2026`: it is unknown whether it is earlier or later.
    case unreadable(JSONValue)

    /// Nil if there is no value, or null.
    init?(_ value: JSONValue?) {
        guard let value, value.kind != .null else { return nil }
        if value.kind == .number {
            self = .number(value)
        } else if let text = value.string, let time = Self.time(text) {
            self = time
        } else {
            self = .unreadable(value)
        }
    }

    private static func time(_ text: String) -> LeafDate? {
        if let date = UTCDate(rfc3339: text) ?? UTCDate(ecmaScript: Array(text.utf8)) {
            // `…:00.500Z`: the digits after the point order times within a second.
            let fraction = date.text.split(separator: ".").last?.dropLast() ?? ""
            return .time(seconds: date.seconds, fraction: String(fraction))
        }
        guard let date = try? ISODate(text) else { return nil }
        return .time(seconds: date.seconds, fraction: date.fractionDigits)
    }

    /// Nil if one is a text and the other a number, or if one is unreadable.
    func isLater(than other: LeafDate) -> Bool? {
        switch (self, other) {
        case (.time(let seconds, let fraction), .time(let others, let otherFraction)):
            return seconds == others
                ? otherFraction.utf8.lexicographicallyPrecedes(fraction.utf8) : seconds > others
        case (.number(let number), .number(let other)):
            return JSONCollation.compare(number, other) == .greater
        default: return nil
        }
    }
}

extension Conflict {
    /// Whether each leaf has a date, and no two are equal.
    func isOrderedByDate(_ member: String) -> Bool {
        let dates = leaves.compactMap { LeafDate($0.document.root[member]) }
        return dates.count == leaves.count
            && dates.indices.allSatisfy { index in
                dates[..<index].allSatisfy {
                    $0.isLater(than: dates[index]) == true || dates[index].isLater(than: $0) == true
                }
            }
    }

    /// The first leaf whose member is neither a date nor a number, and its value. Nil if there is none.
    func undatedLeaf(by member: String) -> (revision: String, value: JSONValue)? {
        for leaf in leaves {
            if case .unreadable(let value)? = LeafDate(leaf.document.root[member]) { return (leaf.revision, value) }
        }
        return nil
    }

    /// The leaves as indexes in ``leaves``, latest date first. Leaves without a date come last. For equal dates, the
    /// winner comes first.
    ///
    /// - Returns: Nil if the dates of some leaves can't be compared.
    func latestFirst(by member: String) -> [Int]? {
        let dates = leaves.map { LeafDate($0.document.root[member]) }
        let dated = dates.compactMap { $0 }
        if undatedLeaf(by: member) != nil { return nil }
        for date in dated.dropFirst() where date.isLater(than: dated[0]) == nil { return nil }
        return leaves.indices.sorted { left, right in
            switch (dates[left], dates[right]) {
            case (let date?, let other?):
                if date.isLater(than: other) == true { return true }
                if other.isLater(than: date) == true { return false }
                return left < right
            case (_?, nil): return true
            case (nil, _?): return false
            case (nil, nil): return left < right
            }
        }
    }
}
