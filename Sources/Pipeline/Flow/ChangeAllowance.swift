/// How many documents a run may still change.
package actor ChangeAllowance {
    private var left: Int?

    /// - Parameter limit: Nil for any number.
    package init(limit: Int?) { left = limit }

    package var isExhausted: Bool { left == 0 }

    /// Takes as many as there are of what is asked for.
    func take(_ count: Int) -> Int {
        guard let available = left else { return count }
        let taken = min(available, count)
        left = available - taken
        return taken
    }
}
