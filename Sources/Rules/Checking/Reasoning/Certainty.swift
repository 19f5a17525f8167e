/// Whether something is true, as far as that is known.
enum Certainty {
    case yes, no, unknown

    init(_ isSo: Bool?) { self = isSo.map { $0 ? .yes : .no } ?? .unknown }

    var opposite: Certainty {
        switch self {
        case .yes: .no
        case .no: .yes
        case .unknown: .unknown
        }
    }

    /// Whether all are true. Without parts: yes.
    static func all(_ parts: [Certainty]) -> Certainty {
        if parts.contains(.no) { return .no }
        return parts.contains(.unknown) ? .unknown : .yes
    }

    /// Whether any is true. Without parts: no.
    static func any(_ parts: [Certainty]) -> Certainty { all(parts.map(\.opposite)).opposite }
}
