/// Why an edit was not made. The text is as it was.
public enum JSONEditFault: Error, Equatable, Sendable, CustomStringConvertible {
    /// Two members of one object have this name.
    case duplicateMember(name: String)
    /// The pointer leads nowhere, or through something that is neither object nor array.
    case noSuchPlace(JSONPointer)
    /// The new value is not JSON.
    case invalidValue(JSONFault)

    public var description: String {
        switch self {
        case .duplicateMember(let name): "two members are named '\(name)'; which one to edit would be a guess"
        case .noSuchPlace(let pointer): "the document has no place '\(pointer)'"
        case .invalidValue(let fault): "the new value is not JSON: \(fault)"
        }
    }
}

extension JSONText {
    /// Replaces the value at `pointer`, or adds it as a member of the object that should hold it.
    ///
    /// In an array the element must exist, or be "-": then the value is appended.
    public func setting(_ pointer: JSONPointer, to value: some Sequence<UInt8>) throws(JSONEditFault) -> JSONText {
        let value = Array(value)
        guard let name = pointer.tokens.last, let parent = pointer.parent else { return try Self.edited(value) }
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

    /// Inserts an element before the one at `pointer`; at the end if its last token is "-" or the array's length.
    public func inserting(_ value: some Sequence<UInt8>, at pointer: JSONPointer) throws(JSONEditFault) -> JSONText {
        guard let token = pointer.tokens.last, let parent = pointer.parent else { throw .noSuchPlace(pointer) }
        let array = try place(parent)
        guard array.kind == .array else { throw .noSuchPlace(pointer) }
        let elements = Array(array.elements)
        guard let position = token == "-" ? elements.count : JSONPointer.arrayPosition(token),
            position <= elements.count
        else { throw .noSuchPlace(pointer) }
        var splices = JSONSplices()
        if position < elements.count {
            splices.insert(Array(value) + [UInt8(ascii: ",")], at: elements[position].range.lowerBound)
        } else if let last = elements.last {
            splices.insert([UInt8(ascii: ",")] + Array(value), at: last.range.upperBound)
        } else {
            splices.insert(Array(value), at: array.range.lowerBound + 1)
        }
        return try applying(splices)
    }

    /// Removes the member or element at `pointer`.
    public func removing(_ pointer: JSONPointer) throws(JSONEditFault) -> JSONText {
        guard let token = pointer.tokens.last, let parent = pointer.parent else { throw .noSuchPlace(pointer) }
        let container = try place(parent)
        var splices = JSONSplices()
        switch container.kind {
        case .object:
            var edit = try JSONObjectEdit(container)
            guard let position = edit.position(of: token) else { throw .noSuchPlace(pointer) }
            edit.remove(at: position)
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

    /// The text with the splices made; itself if there are none.
    func applying(_ splices: JSONSplices) throws(JSONEditFault) -> JSONText {
        splices.isEmpty ? self : try Self.edited(splices.applied(to: bytes))
    }

    /// What an edit made is scanned like everything else: an edit can't make what is not JSON.
    private static func edited(_ bytes: [UInt8]) throws(JSONEditFault) -> JSONText {
        do throws(JSONFault) { return try JSONText(bytes) } catch { throw .invalidValue(error) }
    }

    private func place(_ pointer: JSONPointer) throws(JSONEditFault) -> JSONValue {
        guard let value = root.value(at: pointer) else { throw .noSuchPlace(pointer) }
        return value
    }
}
