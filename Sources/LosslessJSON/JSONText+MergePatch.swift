extension JSONText {
    /// Applies a JSON Merge Patch: members of `patch` replace those of the text, null removes.
    ///
    /// Members that already have an equivalent value keep their bytes, so a patch that changes nothing gives back this
    /// very text. New members follow the last one, in the patch's order. Recurses as deep as the patch.
    ///
    /// - Throws: ``JSONEditFault/duplicateMember(name:)`` where an object to be changed names a member twice.
    /// - Note: Source: RFC 7396.
    public func merging(_ patch: JSONValue) throws(JSONEditFault) -> JSONText {
        guard patch.kind == .object, root.kind == .object else {
            return root.isEquivalent(to: patch) ? self : try setting(JSONPointer(tokens: []), to: patch.withoutNulls())
        }
        var splices = JSONSplices()
        try Self.merge(patch, into: root, splices: &splices)
        return try applying(splices)
    }

    private static func merge(
        _ patch: JSONValue, into object: JSONValue, splices: inout JSONSplices
    ) throws(JSONEditFault) {
        var edit = try JSONObjectEdit(object)
        for member in patch.members {
            guard let name = member.name.string else { continue }
            guard let position = edit.position(of: name) else {
                if member.value.kind != .null { edit.set(name, to: member.value.withoutNulls()) }
                continue
            }
            let current = edit.value(at: position)
            if member.value.kind == .null {
                edit.remove(at: position)
            } else if member.value.kind == .object, current.kind == .object {
                try merge(member.value, into: current, splices: &splices)
            } else if !member.value.isEquivalent(to: current) {
                edit.set(name, to: member.value.withoutNulls())
            }
        }
        edit.splice(into: &splices)
    }
}

extension JSONValue {
    /// What a merge patch leaves of this value where there was no object before: members that are null are gone.
    func withoutNulls() -> [UInt8] {
        guard kind == .object, hasNullMember else { return Array(bytes) }
        var writer = JSONWriter()
        writeWithoutNulls(to: &writer)
        return writer.bytes
    }

    private var hasNullMember: Bool { members.contains { $0.value.kind == .null || $0.value.hasNullMember } }

    private func writeWithoutNulls(to writer: inout JSONWriter) {
        guard kind == .object else { return writer.raw(bytes) }
        writer.object { writer in
            for member in members where member.value.kind != .null {
                writer.name(rawNameOf: member)
                member.value.writeWithoutNulls(to: &writer)
            }
        }
    }

    /// Whether a gateway that got one of the two may well hand out the other: members in any order, numbers that are
    /// equal though spelled differently, strings by their characters.
    ///
    /// Gateways sort members and normalise floats; a value must not be sent again and again for that.
    public func isEquivalent(to other: JSONValue) -> Bool {
        guard kind == other.kind else { return false }
        switch kind {
        case .null, .false, .true: return true
        case .number: return JSONNumber(self).compare(JSONNumber(other)) == .equal
        case .string:
            return isEscaped || other.isEscaped ? utf8 == other.utf8 : rawContent == other.rawContent
        case .array:
            var others = other.elements
            for element in elements {
                guard let other = others.next(), element.isEquivalent(to: other) else { return false }
            }
            return others.next() == nil
        case .object:
            guard childCount == other.childCount else { return false }
            return members.allSatisfy { member in
                guard let name = member.name.utf8, let value = other.member(name) else { return false }
                return member.value.isEquivalent(to: value)
            }
        }
    }
}
