/// The type of a JSON value. The raw values are CouchDB's order of types, lowest first.
///
/// - Note: Source: CouchDB 3.5, `couch_ejson_compare`: null, false, true, numbers, strings, arrays, objects.
public enum JSONKind: UInt8, Sendable, Comparable {
    case null, `false`, `true`, number, string, array, object

    /// The type's name in JSON Schema and in `$type`: true and false are both `boolean`.
    public var name: String {
        switch self {
        case .null: "null"
        case .false, .true: "boolean"
        case .number: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }

    /// Whether every value of kind `left` sorts before every value of kind `right` in CouchDB.
    public static func < (left: JSONKind, right: JSONKind) -> Bool { left.rawValue < right.rawValue }
}
