/// How many documents a run may still change (`--limit`).
actor ChangeAllowance {
    private var left: Int?

    /// - Parameter limit: Nil: any number.
    init(limit: Int?) { left = limit }

    /// Never true without a limit.
    var isExhausted: Bool { left == 0 }

    /// Takes up to `count` of what is left, and returns how many.
    func take(_ count: Int) -> Int {
        guard let available = left else { return count }
        let taken = min(available, count)
        left = available - taken
        return taken
    }
}
