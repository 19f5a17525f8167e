extension JSONValue {
    /// Whether a gateway that got one of the two may well hand out the other: members in any order, numbers that are
    /// equal though spelled differently, strings by their characters. Of duplicate members the last one counts.
    ///
    /// Gateways sort members and normalise floats; a value must not be sent again and again for that. Does not recurse.
    ///
    /// - Parameter numbersAsWritten: Whether numbers that are spelled differently are different all the same.
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
