internal import DocumentFlow

/// Counts failed attempts per event, so that an event which the receiver can't process is eventually given up.
struct EventAttempts: Sendable {
    /// After this many failures an event is given up, if the receiver accepted others since the first one.
    private static let limit = 8
    /// The same limit for responses of a proxy in front of the receiver, such as 503.
    private static let gatewayLimit = 30
    /// The maximum number of events that are remembered. Beyond that, all counts start again.
    private static let capacity = 10_000

    private struct Failures {
        var byEvent = 0
        var byGateway = 0
        let successesBefore: Int
        var backoff: Backoff

        var count: Int { byEvent + byGateway }
    }

    private let backoff: Backoff
    private var failures: [String: Failures] = [:]

    /// - Parameter backoff: How long a failed event waits while its receiver is up.
    init(_ backoff: Backoff) { self.backoff = backoff }

    var isEmpty: Bool { failures.isEmpty }

    /// Whether the request for an event has failed before.
    func contains(_ key: String) -> Bool { failures[key] != nil }

    /// Whether the receiver accepted other events since this one first failed.
    func isSuspect(_ key: String, successes: Int) -> Bool {
        failures[key].map { successes > $0.successesBefore } ?? false
    }

    /// Counts a failed attempt.
    ///
    /// - Parameters:
    ///   - key: The event's key.
    ///   - successes: Requests that the receiver has accepted so far.
    /// - Returns: How many attempts have failed, whether to give the event up, and if not, how long it waits.
    mutating func fail(
        _ key: String, isFromGateway: Bool, successes: Int
    ) -> (count: Int, givesUp: Bool, wait: Duration) {
        if failures.count >= Self.capacity { failures = [:] }
        var own = failures[key] ?? Failures(successesBefore: successes, backoff: backoff)
        if isFromGateway { own.byGateway += 1 } else { own.byEvent += 1 }
        let isSuspect = successes > own.successesBefore
        let givesUp = isSuspect && (own.byEvent >= Self.limit || own.byGateway >= Self.gatewayLimit)
        let wait = own.backoff.next(atLeast: backoff.base / 10)
        failures[key] = givesUp ? nil : own
        return (own.count, givesUp, wait)
    }

    /// Forgets an event that is settled.
    mutating func end(_ key: String) { failures[key] = nil }
}
