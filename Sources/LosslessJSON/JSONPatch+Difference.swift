extension JSONPatch {
    /// The patch that leads from one document to the other: applied to `old` it makes what is equivalent to `new`.
    ///
    /// Values that are equivalent are no difference, however they are spelled; new values keep their bytes. Of an
    /// object: removals and changes in the order of the old members, additions in the order of the new ones. Of an
    /// array: what begins and ends the same stays, the rest is compared element by element. An object that names a
    /// member twice, or by a lone surrogate, is replaced as a whole. The same two documents always give the same patch. Does not recurse.
    ///
    /// - Parameters:
    ///   - leavingOut: Members of the two root objects that are not looked at.
    ///   - numbersAsWritten: Whether another spelling of a number is a difference.
    public static func difference(
        from old: JSONValue, to new: JSONValue, leavingOut: Set<String> = [], numbersAsWritten: Bool = false
    ) -> JSONPatch {
        var search = JSONDifferenceSearch(
            leavingOut: Set(leavingOut.map { Array($0.utf8)[...] }), numbersAsWritten: numbersAsWritten)
        search.run(from: old, to: new)
        return JSONPatch(operations: search.operations)
    }
}

/// Walks two documents side by side, in the order in which the operations are to be carried out.
private struct JSONDifferenceSearch {
    private enum Step {
        case compare(JSONPointer, JSONValue, JSONValue)
        case add(JSONPointer, JSONValue)
        case remove(JSONPointer)
    }

    private(set) var operations: [JSONPatch.Operation] = []
    private let leavingOut: Set<ArraySlice<UInt8>>
    /// What is left to do, the next step last.
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

    /// Members that are left out take no part: a document that is replaced as a whole loses them.
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
        // Between arrays of one length, comparing element by element finds the same, and equal parts only once.
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

    /// The positions of the old elements between those that both arrays begin and end with.
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
    /// The members by name; nil if two share one, or no pointer can name one because of a lone surrogate.
    fileprivate var uniqueMembers: [ArraySlice<UInt8>: JSONValue]? {
        var values: [ArraySlice<UInt8>: JSONValue] = [:]
        for member in members {
            guard member.name.isText, values.updateValue(member.value, forKey: member.name.characters) == nil
            else { return nil }
        }
        return values
    }

    /// The object without the members of these names, duplicates included; what is not an object as it is.
    fileprivate func without(_ names: Set<ArraySlice<UInt8>>) -> JSONValue {
        guard kind == .object, members.contains(where: { names.contains($0.name.characters) }) else { return self }
        let kept = members.filter { !names.contains($0.name.characters) }.map { text.bytes[$0.range] }
        let bytes = [UInt8(ascii: "{")] + kept.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "}")]
        // Parts of an object that has been scanned: within any limits, if the depth does not count.
        return (try? JSONText(bytes, limits: JSONLimits(depth: .max)))?.root ?? self
    }
}
