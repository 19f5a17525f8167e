/// Whether something is so, as far as anything is known about it.
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

    /// Whether all of them are so. Of none: yes.
    static func all(_ parts: [Certainty]) -> Certainty {
        if parts.contains(.no) { return .no }
        return parts.contains(.unknown) ? .unknown : .yes
    }

    /// Whether any of them is so. Of none: no.
    static func any(_ parts: [Certainty]) -> Certainty { all(parts.map(\.opposite)).opposite }
}
