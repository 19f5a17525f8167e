extension JSONPatch {
    /// A patch that turns `old` into a document equivalent to `new`.
    ///
    /// Values that differ only in spelling count as equivalent. New values keep their bytes.
    /// - Objects: removals and changes come in the order of the old members, additions in the order of the new ones.
    /// - Arrays: the common start and end stay, and the rest is compared element by element.
    /// - An object with a duplicate member, or with a lone surrogate in a name, is replaced as a whole.
    ///
    /// Deterministic: the same documents always give the same patch. Does not recurse.
    ///
    /// - Parameters:
    ///   - leavingOut: Members of the two root objects to ignore.
    ///   - numbersAsWritten: Whether a different spelling of the same number is a difference.
    public static func difference(
        from old: JSONValue, to new: JSONValue, leavingOut: Set<String> = [], numbersAsWritten: Bool = false
    ) -> JSONPatch {
        var search = JSONDifferenceSearch(
            leavingOut: Set(leavingOut.map { Array($0.utf8)[...] }), numbersAsWritten: numbersAsWritten)
        search.run(from: old, to: new)
        return JSONPatch(operations: search.operations)
    }
}

/// Walks two documents in parallel, in the order in which the operations must be applied.
private struct JSONDifferenceSearch {
    private enum Step {
        case compare(JSONPointer, JSONValue, JSONValue)
        case add(JSONPointer, JSONValue)
        case remove(JSONPointer)
    }

    private(set) var operations: [JSONPatch.Operation] = []
    private let leavingOut: Set<ArraySlice<UInt8>>
    /// The remaining steps, next one last.
    private var steps: [Step] = []

    private let numbersAsWritten: Bool

    init(leavingOut: Set<ArraySlice<UInt8>>, numbersAsWritten: Bool) {
        self.leavingOut = leavingOut
        self.numbersAsWritten = numbersAsWritten
    }

    mutating func run(from old: JSONValue, to new: JSONValue) {
        steps = [.compare(JSONPointer(tokens: []), old, new)]
        while let step = steps.popLast() {
            switch step {
            case .compare(let pointer, let old, let new): compare(old, new, at: pointer)
            case .add(let pointer, let value): operations.append(.add(pointer, value.detached()))
            case .remove(let pointer): operations.append(.remove(pointer))
            }
        }
    }

    private mutating func compare(_ old: JSONValue, _ new: JSONValue, at pointer: JSONPointer) {
        switch (old.kind, new.kind) {
        case (.array, .array): compareElements(Array(old.elements), Array(new.elements), at: pointer)
        case (.object, .object): compareMembers(old, new, at: pointer)
        default: replaceUnlessEquivalent(old, with: new, at: pointer)
        }
    }

    /// At the root, ignored members are neither compared nor part of the new value: a document that is replaced as a
    /// whole loses them.
    private mutating func replaceUnlessEquivalent(_ old: JSONValue, with new: JSONValue, at pointer: JSONPointer) {
        let isRoot = pointer.tokens.isEmpty
        let old = isRoot ? old.without(leavingOut) : old
        let new = isRoot ? new.without(leavingOut) : new
        if !isSame(old, new) { operations.append(.replace(pointer, new.detached())) }
    }

    private mutating func compareMembers(_ old: JSONValue, _ new: JSONValue, at pointer: JSONPointer) {
        guard let oldValues = old.uniqueMembers, let newValues = new.uniqueMembers else {
            return replaceUnlessEquivalent(old, with: new, at: pointer)
        }
        let ignored = pointer.tokens.isEmpty ? leavingOut : []
        var changes: [Step] = []
        for member in old.members where !ignored.contains(member.name.characters) {
            let place = pointer.appending(member.name.string ?? "")
            if let value = newValues[member.name.characters] {
                changes.append(.compare(place, member.value, value))
            } else {
                operations.append(.remove(place))
            }
        }
        for member in new.members where !ignored.contains(member.name.characters) {
            guard oldValues[member.name.characters] == nil else { continue }
            changes.append(.add(pointer.appending(member.name.string ?? ""), member.value))
        }
        steps.append(contentsOf: changes.reversed())
    }

    private mutating func compareElements(_ old: [JSONValue], _ new: [JSONValue], at pointer: JSONPointer) {
        // For arrays of equal length, comparing all elements gives the same operations, and compares equal parts only
        // once.
        let common = old.count == new.count ? 0..<old.count : middle(old, new)
        let added = new.count - (old.count - common.count)
        var changes: [Step] = []
        for position in common.prefix(added) {
            changes.append(.compare(pointer.appending("\(position)"), old[position], new[position]))
        }
        for position in common.dropFirst(added).reversed() {
            changes.append(.remove(pointer.appending("\(position)")))
        }
        for position in common.upperBound..<max(common.upperBound, common.lowerBound + added) {
            changes.append(.add(pointer.appending("\(position)"), new[position]))
        }
        steps.append(contentsOf: changes.reversed())
    }

    /// The positions of the old elements between the common start and the common end of both arrays.
    private func middle(_ old: [JSONValue], _ new: [JSONValue]) -> Range<Int> {
        let shorter = min(old.count, new.count)
        let start = (0..<shorter).first { !isSame(old[$0], new[$0]) } ?? shorter
        let kept = (0..<shorter - start).first {
            !isSame(old[old.count - 1 - $0], new[new.count - 1 - $0])
        }
        return start..<old.count - (kept ?? shorter - start)
    }

    private func isSame(_ old: JSONValue, _ new: JSONValue) -> Bool {
        old.isEquivalent(to: new, numbersAsWritten: numbersAsWritten)
    }
}

extension JSONValue {
    /// The members by name. Nil if two share a name, or if a name has a lone surrogate, which no pointer can express.
    fileprivate var uniqueMembers: [ArraySlice<UInt8>: JSONValue]? {
        var values: [ArraySlice<UInt8>: JSONValue] = [:]
        for member in members {
            guard member.name.isText, values.updateValue(member.value, forKey: member.name.characters) == nil
            else { return nil }
        }
        return values
    }

    /// The object without the members of these names, including duplicates. Other values are unchanged.
    fileprivate func without(_ names: Set<ArraySlice<UInt8>>) -> JSONValue {
        guard kind == .object, members.contains(where: { names.contains($0.name.characters) }) else { return self }
        let kept = members.filter { !names.contains($0.name.characters) }.map { text.bytes[$0.range] }
        let bytes = [UInt8(ascii: "{")] + kept.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "}")]
        // Parts of a scanned object: they can exceed only the depth limit.
        return (try? JSONText(bytes, limits: JSONLimits(depth: .max)))?.root ?? self
    }
}
