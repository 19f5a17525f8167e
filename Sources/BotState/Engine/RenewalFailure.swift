/// Why a lease that was not renewed is over. A value without a clock.
struct RenewalFailure {
    /// Why the last renewal failed. Nil: it succeeded.
    private var reason: String?

    mutating func noteFailure(_ reason: String) { self.reason = reason }

    mutating func noteSuccess() { reason = nil }

    /// - Parameters:
    ///   - isRevoked: Whether the engine has reported that another member has the lease.
    ///   - engine: The engine's description.
    func end(isRevoked: Bool, _ engine: String) -> String {
        // Without a failed renewal, this process was paused.
        guard !isRevoked, let reason else { return Self.takenOver }
        return "the engine did not answer in time: \(StateError.engineUnavailable("\(engine): \(reason)"))"
    }

    static let takenOver =
        "another member has taken over, the lease was revoked, or this member was silent for too long"
}
