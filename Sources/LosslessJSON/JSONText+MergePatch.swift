extension JSONText {
    /// Applies a JSON Merge Patch: members of `patch` replace members of the text, and null removes them.
    ///
    /// Members that already have an equivalent value keep their bytes. A patch that changes nothing returns this same
    /// text. New members come after the last one, in the patch's order and spelling. The last of duplicate members of
    /// the patch counts. Does not recurse.
    ///
    /// - Parameter numbersAsWritten: Whether a different spelling of the same number is a different value.
    /// - Throws: ``JSONEditError/duplicateMember(name:)`` if an object to change has duplicate members.
    /// - Note: Source: RFC 7396.
    public func merging(_ patch: JSONValue, numbersAsWritten: Bool = false) throws(JSONEditError) -> JSONText {
        guard patch.kind == .object, root.kind == .object else {
            return root.isEquivalent(to: patch, numbersAsWritten: numbersAsWritten)
                ? self : try setting(JSONPointer(tokens: []), to: patch.withoutNulls())
        }
        var splices = JSONSplices()
        var pairs = [(patch: patch, object: root)]
        while let (patch, object) = pairs.popLast() {
            var edit = try JSONObjectEdit(object)
            let wanted = MemberPositions(patch)
            for position in wanted.indices {
                let member = wanted[position]
                let name = member.name.characters
                guard wanted.position(of: name) == position else { continue }
                let current = edit.value(of: name)
                if member.value.kind == .null {
                    _ = edit.remove(name)
                } else if let current, member.value.kind == .object, current.kind == .object {
                    pairs.append((member.value, current))
                } else if current?.isEquivalent(to: member.value, numbersAsWritten: numbersAsWritten) != true {
                    edit.set(member.name, to: member.value.withoutNulls())
                }
            }
            edit.splice(into: &splices)
        }
        return try applying(splices)
    }
}

extension JSONValue {
    /// The value that a merge patch stores where there was no object before: without null members, except in objects
    /// inside arrays.
    func withoutNulls() -> [UInt8] {
        var splices = JSONSplices()
        var objects = [self]
        while let object = objects.popLast() {
            guard object.kind == .object else { continue }
            let edit = JSONObjectEdit(removingNullsOf: object)
            edit.splice(into: &splices)
            objects.append(contentsOf: edit.keptValues)
        }
        return splices.applied(to: text.bytes, in: range)
    }
}
