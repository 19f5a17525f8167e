extension JSONText {
    /// Makes the changes that turn `old` into `new`. `old` is a reader's interpretation of this text, which may be
    /// incomplete.
    ///
    /// Parts that `old` and `new` have in common keep their bytes in this text, and so do members that neither has. A
    /// list element is matched by its value, or by a member `id` or `_id`; otherwise by its position if the list keeps
    /// its length. Unlike in a merge patch, `null` is an ordinary value. Without changes, returns this same text.
    /// Recurses as deep as `new`.
    ///
    /// - Throws: ``JSONEditError/duplicateMember(name:)`` if an object to change has duplicate members.
    package func applyingChanges(from old: JSONValue, to new: JSONValue) throws(JSONEditError) -> JSONText {
        var splices = JSONSplices()
        try root.addChanges(from: old, to: new, to: &splices)
        return try applying(splices)
    }
}

extension JSONValue {
    fileprivate func addChanges(
        from old: JSONValue, to new: JSONValue, to splices: inout JSONSplices
    ) throws(JSONEditError) {
        guard !old.isEquivalent(to: new, numbersAsWritten: true) else { return }
        switch (kind, old.kind, new.kind) {
        case (.object, .object, .object): try addMemberChanges(from: old, to: new, to: &splices)
        case (.array, .array, .array):
            if let changes = ElementChanges(Array(elements), Array(old.elements), Array(new.elements)) {
                try addElementChanges(changes, to: &splices)
            } else {
                splices.replace(range, with: Array(new.bytes))
            }
        default: splices.replace(range, with: Array(new.bytes))
        }
    }

    private func addMemberChanges(
        from old: JSONValue, to new: JSONValue, to splices: inout JSONSplices
    ) throws(JSONEditError) {
        var edit = try JSONObjectEdit(self)
        let (before, after) = (MemberPositions(old), MemberPositions(new))
        for position in after.indices {
            let member = after[position]
            let name = member.name.characters
            let known = before.position(of: name).map { before[$0].value }
            if let known, known.isEquivalent(to: member.value, numbersAsWritten: true) { continue }
            if let known, let own = edit.value(of: name) {
                try own.addChanges(from: known, to: member.value, to: &splices)
            } else {
                edit.set(member.name, to: Array(member.value.bytes))
            }
        }
        for position in before.indices {
            let name = before[position].name.characters
            if after.position(of: name) == nil { _ = edit.remove(name) }
        }
        edit.splice(into: &splices)
    }

    private func addElementChanges(_ changes: ElementChanges, to splices: inout JSONSplices) throws(JSONEditError) {
        if changes.keepPositions {
            for case .changed(let own, let old, let new) in changes.elements {
                try own.addChanges(from: old, to: new, to: &splices)
            }
            return
        }
        var list: [UInt8] = [UInt8(ascii: "[")]
        for (position, element) in changes.elements.enumerated() {
            if position > 0 { list.append(UInt8(ascii: ",")) }
            switch element {
            case .changed(let own, let old, let new):
                var inner = JSONSplices()
                try own.addChanges(from: old, to: new, to: &inner)
                list += inner.applied(to: own.text.bytes, in: own.range)
            case .new(let value): list += value.bytes
            }
        }
        list.append(UInt8(ascii: "]"))
        splices.replace(range, with: list)
    }
}

/// The origin of each element of a changed list.
private struct ElementChanges {
    enum Element {
        /// An existing element. `old` and `new` may be equivalent.
        case changed(own: JSONValue, old: JSONValue, new: JSONValue)
        case new(JSONValue)
    }

    private(set) var elements: [Element] = []
    /// Whether each element kept its position.
    let keepPositions: Bool

    /// Nil if `old` does not have the same number of elements as the text.
    init?(_ own: [JSONValue], _ old: [JSONValue], _ new: [JSONValue]) {
        guard own.count == old.count else { return nil }
        let origins = Self.origins(of: new, in: old)
        elements = zip(new, origins).map { value, origin in
            guard let origin else { return .new(value) }
            return .changed(own: own[origin], old: old[origin], new: value)
        }
        keepPositions = old.count == new.count && zip(origins, origins.indices).allSatisfy { $0 == $1 }
    }

    /// For each new element, its previous position.
    private static func origins(of new: [JSONValue], in old: [JSONValue]) -> [Int?] {
        func isSame(_ left: Int, _ right: Int) -> Bool {
            new[left].isEquivalent(to: old[right], numbersAsWritten: true)
        }
        var origins = [Int?](repeating: nil, count: new.count)
        let shorter = min(old.count, new.count)
        let start = (0..<shorter).first { !isSame($0, $0) } ?? shorter
        let end = (0..<shorter - start).first { !isSame(new.count - 1 - $0, old.count - 1 - $0) } ?? shorter - start
        for position in 0..<start { origins[position] = position }
        for distance in 0..<end { origins[new.count - 1 - distance] = old.count - 1 - distance }

        var unused = Array(start..<old.count - end)
        func take(_ position: Int, where isOrigin: (Int) -> Bool) {
            guard origins[position] == nil, let index = unused.firstIndex(where: isOrigin) else { return }
            origins[position] = unused.remove(at: index)
        }
        let changed = start..<new.count - end
        for position in changed { take(position) { isSame(position, $0) } }
        for position in changed {
            guard let identity = new[position].identity else { continue }
            take(position) { old[$0].identity?.isEquivalent(to: identity) == true }
        }
        guard old.count == new.count else { return origins }
        for position in changed where new[position].identity == nil {
            take(position) { $0 == position && old[$0].identity == nil }
        }
        return origins
    }
}

extension JSONValue {
    /// The value that distinguishes an element of a list.
    fileprivate var identity: JSONValue? { self["id"] ?? self["_id"] }
}
