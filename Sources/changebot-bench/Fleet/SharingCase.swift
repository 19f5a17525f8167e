/// How the documents of one case are decided.
enum SharingCase: Hashable {
    /// By `run` as it is without options.
    case alone
    /// By a fleet of so many members.
    case members(Int)

    var name: String {
        switch self {
        case .alone: "without engine"
        case .members(let count): "fleet, members: \(count)"
        }
    }

    var processes: Int {
        guard case .members(let count) = self else { return 1 }
        return count
    }

    /// Those with up to so many members: 1, 2, 4 and so on.
    static func all(upTo members: Int) -> [SharingCase] {
        var counts: [Int] = []
        var count = 1
        while count < members {
            counts.append(count)
            count *= 2
        }
        return [.alone] + (counts + [members]).map { .members($0) }
    }
}

/// What is measured of a ``SharingCase``.
enum SharingMeasure: String, CaseIterable {
    case rate = "documents per second"
    case members = "members: processor time per document"
    case gateway = "gateway: processor time per document"
    case engine = "PostgreSQL: processor time per document"

    var label: String {
        switch self {
        case .rate: "documents/s"
        case .members: "members ms/document"
        case .gateway: "gateway"
        case .engine: "PostgreSQL"
        }
    }

    var unit: String { self == .rate ? "documents" : "ms" }
    var decimals: Int { self == .rate ? 1 : 2 }
}
