internal import LosslessJSON

/// An object that represents a value of a MongoDB type.
struct ExtendedJSONWrapper {
    enum Kind: String {
        case objectID = "$oid"
        case date = "$date"
        case int32 = "$numberInt"
        case int64 = "$numberLong"
        case double = "$numberDouble"
        case decimal = "$numberDecimal"
        case binary = "$binary"
        case uuid = "$uuid"
        case regularExpression = "$regularExpression"
        case regex = "$regex"
        case timestamp = "$timestamp"
        case symbol = "$symbol"
        case code = "$code"
        case pointer = "$dbPointer"
        case minKey = "$minKey"
        case maxKey = "$maxKey"
        case undefined = "$undefined"

        /// The second member that some or all wrappers of this kind have.
        var companion: String? {
            switch self {
            case .binary: "$type"
            case .regex: "$options"
            case .code: "$scope"
            default: nil
            }
        }
    }

    let kind: Kind
    let object: JSONValue
    let content: JSONValue.Member
    let companion: JSONValue.Member?

    /// Nil if this is not a wrapper.
    init?(_ value: JSONValue) {
        var members = value.members
        guard let first = members.next(), Self.mayBeName(first.name) else { return nil }
        let second = members.next()
        guard members.next() == nil else { return nil }
        object = value
        if let kind = Kind(first), second.map({ $0.name.string == kind.companion }) ?? (kind != .regex) {
            (self.kind, content, companion) = (kind, first, second)
        } else if let second, let kind = Kind(second), first.name.string == kind.companion {
            (self.kind, content, companion) = (kind, second, first)
        } else {
            return nil
        }
    }

    private static func mayBeName(_ name: JSONValue) -> Bool {
        name.isEscaped || name.rawContent.first == UInt8(ascii: "$")
    }

    /// - Parameter rest: Gets the values inside the wrapper that must be converted next.
    func replace(
        into replacements: inout [ExtendedJSON.Replacement], rest: inout [JSONValue]
    ) throws(ExtendedJSONError) {
        if kind == .code, let companion {
            guard content.value.kind == .string else { throw error("a string") }
            guard companion.value.kind == .object else { throw error("a $scope that is an object", companion.value) }
            replacements.append(.init(range: content.name.range, bytes: Array(#""code""#.utf8)))
            replacements.append(.init(range: companion.name.range, bytes: Array(#""scope""#.utf8)))
            rest.append(companion.value)
            return
        }
        replacements.append(.init(range: object.range, bytes: try plainValue()))
    }

    private func plainValue() throws(ExtendedJSONError) -> [UInt8] {
        let value = content.value
        switch kind {
        case .objectID: return try text(where: Self.isObjectID, orExpected: "24 hexadecimal digits")
        case .uuid: return try text(where: Self.isUUID, orExpected: "a 36-character UUID")
        case .symbol, .code: return try text(where: { _ in true }, orExpected: "a string")
        case .date: return try date()
        case .int32: return try number("a 32-bit integer") { Int32($0) != nil }
        case .int64: return try number("a 64-bit integer") { Int64($0) != nil }
        case .double: return try number("a number, NaN, Infinity or -Infinity") { _ in true }
        case .decimal: return try number("a decimal number, NaN, Infinity or -Infinity") { _ in true }
        case .binary: return try binary()
        case .regularExpression: return try expression(value["pattern"], value["options"], members: value.childCount)
        case .regex: return try expression(value, companion?.value, members: 2)
        case .timestamp: return try timestamp()
        case .pointer: return try pointer()
        case .minKey, .maxKey:
            guard value.integer == 1 else { throw error("the number 1") }
            return Array((kind == .minKey ? #""MinKey""# : #""MaxKey""#).utf8)
        case .undefined:
            guard value.bool == true else { throw error("true") }
            return Array("null".utf8)
        }
    }

    func error(_ expected: String, _ value: JSONValue? = nil) -> ExtendedJSONError {
        ExtendedJSONError(
            wrapper: kind.rawValue, expected: expected, offset: (value ?? content.value).range.lowerBound)
    }
}

extension ExtendedJSONWrapper.Kind {
    fileprivate init?(_ member: JSONValue.Member) {
        guard let name = member.name.string else { return nil }
        self.init(rawValue: name)
    }
}
