/// Whether a statement is true, as far as the checks know.
enum Certainty {
    case yes, no, unknown

    init(_ isTrue: Bool?) { self = isTrue.map { $0 ? .yes : .no } ?? .unknown }

    var opposite: Certainty {
        switch self {
        case .yes: .no
        case .no: .yes
        case .unknown: .unknown
        }
    }

    /// Whether all parts are true. Without parts: yes.
    static func all(_ parts: [Certainty]) -> Certainty {
        if parts.contains(.no) { return .no }
        return parts.contains(.unknown) ? .unknown : .yes
    }

    /// Whether any part is true. Without parts: no.
    static func any(_ parts: [Certainty]) -> Certainty { all(parts.map(\.opposite)).opposite }
}
