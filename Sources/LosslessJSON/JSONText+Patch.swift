extension JSONText {
    /// Applies the operations of a JSON Patch in order. Either all of them apply or none.
    ///
    /// Bytes that no operation names stay: numbers, white space, the order of members. A replaced member keeps its
    /// position, an added one comes last. `test` compares with ``JSONValue/isEquivalent(to:numbersAsWritten:)`` and
    /// fails if there is no value.
    ///
    /// Every operation with an effect copies and scans the whole text, so the cost is the length of the patch times the
    /// size of the document. A patch that changes nothing returns this same text. Does not recurse.
    ///
    /// - Throws: ``JSONPatchError`` for the first operation that fails. Since each copy can double a document, a copy
    ///   fails with ``JSONError/Reason/tooLong(limit:)`` if the document and the value together exceed 32 MiB.
    /// - Note: Source: RFC 6902, sections 4 and 5. Where the RFC is silent: removing the whole document fails.
    public func applying(_ patch: JSONPatch) throws(JSONPatchError) -> JSONText {
        var text = self
        for (position, operation) in patch.operations.enumerated() {
            var failureReason: JSONPatchError.Reason?
            do throws(JSONEditError) {
                failureReason = try text.failureReason(to: operation)
                if failureReason == nil { text = try text.applying(operation) }
            } catch {
                failureReason = .edit(error)
            }
            if let failureReason { throw JSONPatchError(failureReason, at: position) }
        }
        return text
    }

    /// Why the operation must fail although its places exist. Nil if it can be applied.
    private func failureReason(to operation: JSONPatch.Operation) throws(JSONEditError) -> JSONPatchError.Reason? {
        switch operation {
        case .test(let pointer, let value):
            do {
                return try place(pointer).isEquivalent(to: value.root) ? nil : .testFailed(pointer)
            } catch .noSuchPlace {
                return .testFailed(pointer)
            }
        case .move(let origin, let pointer): return pointer.isWithin(origin) ? .moveIntoItself(origin) : nil
        default: return nil
        }
    }

    private func applying(_ operation: JSONPatch.Operation) throws(JSONEditError) -> JSONText {
        switch operation {
        case .add(let pointer, let value): return try adding(value.root.bytes, at: pointer)
        case .remove(let pointer): return try removing(pointer)
        case .replace(let pointer, let value):
            _ = try place(pointer)
            return try setting(pointer, to: value.root.bytes)
        case .move(let origin, let pointer):
            let value = try place(origin).bytes
            return origin == pointer ? self : try removing(origin).adding(value, at: pointer)
        case .copy(let origin, let pointer):
            let value = try place(origin).bytes
            guard bytes.count + value.count <= Self.copyLimit else {
                throw .invalidValue(JSONError(.tooLong(limit: Self.copyLimit), at: 0))
            }
            return try adding(value, at: pointer)
        case .test: return self
        }
    }

    /// More than the largest document that a gateway accepts (20 MiB).
    private static let copyLimit = 32 << 20

    private func adding(_ value: ArraySlice<UInt8>, at pointer: JSONPointer) throws(JSONEditError) -> JSONText {
        guard let parent = pointer.parent, try place(parent).kind == .array else {
            return try setting(pointer, to: value)
        }
        return try inserting(value, at: pointer)
    }
}

extension JSONPointer {
    /// Whether this place is inside the other one.
    fileprivate func isWithin(_ other: JSONPointer) -> Bool {
        tokens.count > other.tokens.count && JSONPointer(tokens: Array(tokens.prefix(other.tokens.count))) == other
    }
}
