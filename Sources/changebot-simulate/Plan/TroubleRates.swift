/// Which kinds of trouble occur in a simulation, and how often.
///
/// As text: `all`, `none`, or `kill,lost-answer=0.05`.
struct TroubleRates: Equatable {
    /// Of each kind that occurs, the share of requests, steps or rounds with it, in millionths. Nil: the seed decides in
    /// each round.
    private(set) var shares: [FaultKind: Int?]

    static let all = TroubleRates(shares: Dictionary(uniqueKeysWithValues: FaultKind.allCases.map { ($0, nil) }))
    static let none = TroubleRates(shares: [:])

    struct Invalid: Error { let message: String }

    init(shares: [FaultKind: Int?]) { self.shares = shares }

    /// - Throws: ``Invalid``.
    init(_ text: String) throws(Invalid) {
        switch text {
        case "all": self = .all
        case "none": self = .none
        default:
            self = .none
            for item in text.split(separator: ",", omittingEmptySubsequences: false) {
                let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                try add(String(parts[0]), rate: parts.count > 1 ? String(parts[1]) : nil)
            }
        }
    }

    /// - Parameter rate: From 0 to 1, with at most six decimals; nil: the seed decides.
    /// - Throws: ``Invalid``.
    mutating func add(_ name: String, rate: String?) throws(Invalid) {
        let kind = try Self.kind(name)
        guard shares[kind] == nil else { throw Invalid(message: "'\(name)' appears twice; remove one of the two") }
        guard let rate else {
            shares[kind] = .some(nil)
            return
        }
        guard let number = Double(rate), number >= 0, number <= 1 else {
            throw Invalid(
                message:
                    "the rate of '\(name)' is '\(rate)', but must be a number from 0 to 1: its share of the \(kind.unit)s"
            )
        }
        shares[kind] = .some(Int((number * 1_000_000).rounded()))
    }

    static func kind(_ name: String) throws(Invalid) -> FaultKind {
        if let kind = FaultKind(rawValue: name) { return kind }
        throw Invalid(
            message: "there is no trouble '\(name)': use \(FaultKind.allCases.map(\.rawValue).joined(separator: ", "))")
    }

    /// In the order of their declaration.
    var kinds: [FaultKind] { FaultKind.allCases.filter { shares[$0] != nil } }

    /// In millionths; nil: the seed decides.
    func share(of kind: FaultKind) -> Int? { shares[kind] ?? nil }

    func without(_ dropped: [FaultKind]) -> TroubleRates {
        TroubleRates(shares: shares.filter { !dropped.contains($0.key) })
    }

    /// What ``init(_:)`` reads.
    var text: String {
        if self == .all { return "all" }
        if shares.isEmpty { return "none" }
        return kinds.map { kind in
            guard let share = share(of: kind) else { return kind.rawValue }
            return "\(kind.rawValue)=\(Self.decimal(share))"
        }.joined(separator: ",")
    }

    private static func decimal(_ millionths: Int) -> String {
        guard millionths < 1_000_000 else { return "1" }
        let digits = String(millionths)
        return "0." + String(repeating: "0", count: 6 - digits.count) + digits
    }
}
