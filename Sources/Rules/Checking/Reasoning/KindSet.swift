internal import LosslessJSON

/// The kinds of value that a field can have.
struct KindSet: OptionSet {
    let rawValue: UInt8

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ kind: JSONKind) { rawValue = 1 << kind.rawValue }

    static let array = KindSet(.array)
    static let object = KindSet(.object)
    static let string = KindSet(.string)
    static let boolean: KindSet = [KindSet(.false), KindSet(.true)]
    static let containers: KindSet = [.array, .object]
    static let all = KindSet(rawValue: 0x7F)

    /// The kinds of values for which the condition can hold.
    ///
    /// - Parameter order: How the field is compared.
    init(of condition: Condition, order: ValueOrder) {
        switch condition {
        case .compare(let comparison, let literal): self.init(comparison, literal.value.kind, order)
        case .isIn(let literals): self = literals.reduce(.array) { $0.union(KindSet($1.value.kind)) }
        case .type(let name): self = KindSet(named: name) ?? .all
        case .size, .all, .anyElement, .allElements: self = .array
        case .anyKey: self = .object
        case .modulus: self.init(.number)
        case .regex, .beginsWith: self = .string
        case .not(.type(let name)): self = KindSet(named: name).map { KindSet.all.subtracting($0) } ?? .all
        case .isNotIn, .exists, .not: self = .all
        }
    }

    /// Collation orders values by kind first; the order of `_id` ranks the kinds differently.
    private init(_ comparison: Condition.Comparison, _ kind: JSONKind, _ order: ValueOrder) {
        // null, false and true are each a single value, so none is less than another of its kind.
        let own: KindSet = kind <= .true ? [] : KindSet(kind)
        let below = KindSet(rawValue: 1 << kind.rawValue - 1)
        let above = KindSet.all.subtracting(below).subtracting(KindSet(kind))
        switch (comparison, order) {
        case (.equal, _): self.init(kind)
        case (.notEqual, _): self = below.union(above).union(own)
        case (_, .terms): self = .all
        case (.less, .collation): self = below.union(own)
        case (.lessOrEqual, .collation): self = below.union(KindSet(kind))
        case (.greaterOrEqual, .collation): self = above.union(KindSet(kind))
        case (.greater, .collation): self = above.union(own)
        }
    }

    /// The kinds for a name of `$type`. Nil if no such type exists.
    private init?(named name: String) {
        switch name {
        case "null": self.init(.null)
        case "boolean": self = .boolean
        case "number": self.init(.number)
        case "string": self = .string
        case "array": self = .array
        case "object": self = .object
        default: return nil
        }
    }
}
