internal import LosslessJSON

/// Merges values against their common ancestor: takes the value from the side that changed it.
struct ValueMerge {
    private static let deepest = 100

    /// What is known about the common ancestor.
    enum Ancestry {
        case known
        /// There is none: each existing value counts as a change.
        case none
        /// It is lost, or unknown. As with ``none``, but if several sides have a value, it is unknown which of them
        /// changed it.
        case lost
    }

    /// Two sides differ, and it is unknown which of them changed the value.
    struct Undecidable: Error {
        /// The name of the member or the attachment.
        let name: String
    }

    /// Indexes of the values, by priority if several sides changed a value differently.
    let order: [Int]
    let ancestry: Ancestry
    /// Whether ``order`` also decides if the ancestor is lost.
    var decidesWithoutAncestor = false

    /// The indexes of the changed values, and the one to take. Nil if none changed.
    struct Choice {
        var changed: [Int] = []
        var taken: Int?
        /// Whether several changed it to different values.
        var differs = false
    }

    func choice<Value>(_ values: [Value?], _ ancestor: Value?, _ isEqual: (Value, Value) -> Bool) -> Choice {
        let hasAncestor = ancestry == .known
        func areEqual(_ left: Value?, _ right: Value?) -> Bool {
            switch (left, right) {
            case (nil, nil): true
            case (let left?, let right?): isEqual(left, right)
            default: false
            }
        }
        let changed = values.indices.filter { hasAncestor ? !areEqual(values[$0], ancestor) : values[$0] != nil }
        guard let first = changed.first else { return Choice() }
        let differs = changed.dropFirst().contains { !areEqual(values[$0], values[first]) }
        return Choice(
            changed: changed, taken: differs ? order.first(where: changed.contains) ?? first : first, differs: differs)
    }

    /// - Throws: ``Undecidable`` for a choice between different values.
    func requireDecision(_ choice: Choice, on name: @autoclosure () -> String) throws(Undecidable) {
        guard choice.differs, ancestry == .lost, !decidesWithoutAncestor else { return }
        throw Undecidable(name: name())
    }

    /// Merges objects, member by member.
    ///
    /// - Parameters:
    ///   - objects: Nil for a side without a value. The result has the member order of the first.
    ///   - skipsReserved: Whether members that begin with `_` are left out.
    /// - Throws: ``Undecidable``.
    func members(
        of objects: [JSONValue?], _ ancestor: JSONValue?, skipsReserved: Bool, depth: Int = 0
    ) throws(Undecidable) -> [UInt8] {
        var names: [(name: JSONValue, key: [UInt8])] = []
        var seen: Set<[UInt8]> = []
        for object in objects.compactMap({ $0 }) {
            for member in object.members {
                let key = member.name.utf8 ?? Array(member.name.bytes)
                guard !skipsReserved || key.first != UInt8(ascii: "_"), seen.insert(key).inserted else { continue }
                names.append((member.name, key))
            }
        }
        var merged: [(name: JSONValue, value: [UInt8])] = []
        for (name, key) in names {
            let values = objects.map { $0?.member(named: key) }
            guard let value = try self.merged(values, ancestor?.member(named: key), name, depth) else { continue }
            merged.append((name, value))
        }
        var writer = JSONWriter()
        writer.object { writer in
            for (name, value) in merged { writer.raw(name.bytes + [UInt8(ascii: ":")] + value) }
        }
        return writer.bytes
    }

    /// - Returns: The bytes of the value. Nil if the member is removed.
    private func merged(
        _ values: [JSONValue?], _ ancestor: JSONValue?, _ name: JSONValue, _ depth: Int
    ) throws(Undecidable) -> [UInt8]? {
        let choice = choice(values, ancestor) { $0.isEquivalent(to: $1) }
        let areObjects = choice.changed.allSatisfy { values[$0]?.kind == .object }
        if choice.differs, areObjects, ancestor == nil || ancestor?.kind == .object, depth < Self.deepest {
            let inside = ancestry == .known && ancestor == nil ? Ancestry.none : ancestry
            let merge = ValueMerge(order: order, ancestry: inside, decidesWithoutAncestor: decidesWithoutAncestor)
            return try merge.members(
                of: values.map { $0?.kind == .object ? $0 : nil }, ancestor, skipsReserved: false, depth: depth + 1)
        }
        try requireDecision(choice, on: name.string ?? "")
        return values[choice.taken ?? 0].map { Array($0.bytes) }
    }
}
