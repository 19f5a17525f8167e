/// Why an edit was not made. The text is unchanged.
public enum JSONEditError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Two members of one object have this name, so the one to edit is ambiguous.
    case duplicateMember(name: String)
    /// The pointer leads to no value, or through a value that is neither an object nor an array.
    case noSuchPlace(JSONPointer)
    /// The new value is not JSON, or the edited text would exceed the limits.
    case invalidValue(JSONError)

    /// Contains the name or the pointer in question, but no values of the document.
    public var description: String {
        switch self {
        case .duplicateMember(let name): "two members are named '\(name)', so it is not clear which one to edit"
        case .noSuchPlace(let pointer): "the path '\(pointer)' does not exist in the document"
        case .invalidValue(let error): "the new value is not JSON: \(error)"
        }
    }
}

extension JSONText {
    /// Replaces the value at `pointer`, or adds it as a member of its parent object.
    ///
    /// In an array, the element must exist, or the last token must be "-", which appends the value. If the value
    /// already has these bytes, returns this same text.
    ///
    /// - Throws: ``JSONEditError/duplicateMember(name:)`` if an object on the path has duplicate members;
    ///   ``JSONEditError/noSuchPlace(_:)``; ``JSONEditError/invalidValue(_:)``.
    public func setting(_ pointer: JSONPointer, to value: some Sequence<UInt8>) throws(JSONEditError) -> JSONText {
        let value = try Self.checked(value)
        guard let name = pointer.tokens.last, let parent = pointer.parent else {
            return value == bytes ? self : try Self.edited(value)
        }
        let container = try place(parent)
        var splices = JSONSplices()
        switch container.kind {
        case .object:
            var edit = try JSONObjectEdit(container)
            edit.set(name, to: value)
            edit.splice(into: &splices)
        case .array where name != "-":
            guard let position = JSONPointer.arrayPosition(name), let element = container.element(position) else {
                throw .noSuchPlace(pointer)
            }
            splices.replace(element.range, with: value)
        case .array:
            return try inserting(value, at: pointer)
        default: throw .noSuchPlace(pointer)
        }
        return try applying(splices)
    }

    /// Inserts an element before the one at `pointer`, or at the end if its last token is "-" or the array's length.
    ///
    /// - Throws: ``JSONEditError``, as ``setting(_:to:)``. Also `noSuchPlace` if the parent is not an array.
    public func inserting(_ value: some Sequence<UInt8>, at pointer: JSONPointer) throws(JSONEditError) -> JSONText {
        guard let token = pointer.tokens.last, let parent = pointer.parent else { throw .noSuchPlace(pointer) }
        let value = try Self.checked(value)
        let array = try place(parent)
        guard array.kind == .array else { throw .noSuchPlace(pointer) }
        let elements = Array(array.elements)
        guard let position = token == "-" ? elements.count : JSONPointer.arrayPosition(token),
            position <= elements.count
        else { throw .noSuchPlace(pointer) }
        var splices = JSONSplices()
        if position < elements.count {
            splices.insert(value + [UInt8(ascii: ",")], at: elements[position].range.lowerBound)
        } else if let last = elements.last {
            splices.insert([UInt8(ascii: ",")] + value, at: last.range.upperBound)
        } else {
            splices.insert(value, at: array.range.lowerBound + 1)
        }
        return try applying(splices)
    }

    /// Removes the member or element at `pointer`.
    ///
    /// - Throws: ``JSONEditError``, as ``setting(_:to:)``. Also `noSuchPlace` for the whole document.
    public func removing(_ pointer: JSONPointer) throws(JSONEditError) -> JSONText {
        guard let token = pointer.tokens.last, let parent = pointer.parent else { throw .noSuchPlace(pointer) }
        let container = try place(parent)
        var splices = JSONSplices()
        switch container.kind {
        case .object:
            var edit = try JSONObjectEdit(container)
            guard edit.remove(Array(token.utf8)[...]) else { throw .noSuchPlace(pointer) }
            edit.splice(into: &splices)
        case .array:
            let elements = Array(container.elements)
            guard let position = JSONPointer.arrayPosition(token), position < elements.count else {
                throw .noSuchPlace(pointer)
            }
            let range = elements[position].range
            if position > 0 {
                splices.delete(elements[position - 1].range.upperBound..<range.upperBound)
            } else {
                splices.delete(range.lowerBound..<(elements.dropFirst().first?.range.lowerBound ?? range.upperBound))
            }
        default: throw .noSuchPlace(pointer)
        }
        return try applying(splices)
    }

    /// The text with the splices applied. Returns this same text if they change nothing.
    func applying(_ splices: JSONSplices) throws(JSONEditError) -> JSONText {
        guard !splices.isEmpty else { return self }
        let edited = splices.applied(to: bytes)
        return edited == bytes ? self : try Self.edited(edited)
    }

    /// Scans a new value separately: spliced in unchecked, something like `1,"admin":true` would pass as JSON.
    private static func checked(_ value: some Sequence<UInt8>) throws(JSONEditError) -> [UInt8] {
        let value = Array(value)
        var tape = JSONTape()
        do throws(JSONError) { _ = try tape.scanDocument(value.span) } catch { throw .invalidValue(error) }
        return value
    }

    /// Scans the result like any other text, so that no edit can produce invalid JSON.
    private static func edited(_ bytes: [UInt8]) throws(JSONEditError) -> JSONText {
        do throws(JSONError) { return try JSONText(bytes) } catch { throw .invalidValue(error) }
    }

    /// The value at `pointer`. Throws if an object on the path has duplicate members.
    func place(_ pointer: JSONPointer) throws(JSONEditError) -> JSONValue {
        var value = root
        for token in pointer.tokens {
            if value.kind == .object { _ = try JSONObjectEdit(value) }
            guard let next = value.value(at: JSONPointer(tokens: [token])) else { throw .noSuchPlace(pointer) }
            value = next
        }
        return value
    }
}
