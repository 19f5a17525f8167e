extension JSONValue {
    /// Whether a gateway that stored one value may return the other: members in any order, equal numbers in different
    /// spellings, strings with different escapes. The last of duplicate members counts.
    ///
    /// Gateways sort members and normalise floats. This must not cause the same value to be written repeatedly. Does
    /// not recurse.
    ///
    /// - Parameter numbersAsWritten: Whether equal numbers with different spellings count as different.
    public func isEquivalent(to other: JSONValue, numbersAsWritten: Bool = false) -> Bool {
        var pairs = [(self, other)]
        while let (left, right) = pairs.popLast() {
            guard left.kind == right.kind else { return false }
            switch left.kind {
            case .null, .false, .true: break
            case .number:
                guard left.bytes != right.bytes else { continue }
                guard !numbersAsWritten, JSONNumber(left).compare(JSONNumber(right)) == .equal else { return false }
            case .string:
                guard left.characters == right.characters else { return false }
            case .array:
                var others = right.elements
                for element in left.elements {
                    guard let other = others.next() else { return false }
                    pairs.append((element, other))
                }
                guard others.next() == nil else { return false }
            case .object:
                let others = right.valuesByName
                let own = left.valuesByName
                guard own.count == others.count else { return false }
                for (name, value) in own {
                    guard let other = others[name] else { return false }
                    pairs.append((value, other))
                }
            }
        }
        return true
    }

    private var valuesByName: [ArraySlice<UInt8>: JSONValue] {
        var values: [ArraySlice<UInt8>: JSONValue] = [:]
        for member in members { values[member.name.characters] = member.value }
        return values
    }
}
