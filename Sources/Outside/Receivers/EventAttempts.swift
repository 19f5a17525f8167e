internal import DocumentFlow

/// How often the request for one event failed, so that one event which a receiver can't take does not wait for ever.
struct EventAttempts: Sendable {
    /// An event is given up after so many failures, if the receiver took others since the first one.
    private static let limit = 8
    /// The same for answers of what stands in for a receiver, such as 503 of a proxy.
    private static let gatewayLimit = 30
    /// The most events that are remembered. Beyond that, counts begin again.
    private static let capacity = 10_000

    private struct Failures {
        var ofEvent = 0
        var ofGateway = 0
        let successesBefore: Int
        var backoff: Backoff

        var count: Int { ofEvent + ofGateway }
    }

    private let backoff: Backoff
    private var failures: [String: Failures] = [:]

    /// - Parameter backoff: How long an event waits, if its receiver need not.
    init(_ backoff: Backoff) { self.backoff = backoff }

    var isEmpty: Bool { failures.isEmpty }

    /// Whether the request for an event has failed, which may be the event's fault.
    func contains(_ key: String) -> Bool { failures[key] != nil }

    /// Whether the receiver took others since the request for an event first failed.
    func isSuspect(_ key: String, successes: Int) -> Bool {
        failures[key].map { successes > $0.successesBefore } ?? false
    }

    /// Counts a failed attempt.
    ///
    /// - Parameters:
    ///   - key: Of the event.
    ///   - successes: Requests that the receiver has accepted so far.
    /// - Returns: How many attempts have failed, whether to give the event up, and if not, how long it waits.
    mutating func fail(
        _ key: String, isOfGateway: Bool, successes: Int
    ) -> (count: Int, givesUp: Bool, wait: Duration) {
        if failures.count >= Self.capacity { failures = [:] }
        var own = failures[key] ?? Failures(successesBefore: successes, backoff: backoff)
        if isOfGateway { own.ofGateway += 1 } else { own.ofEvent += 1 }
        let isSuspect = successes > own.successesBefore
        let givesUp = isSuspect && (own.ofEvent >= Self.limit || own.ofGateway >= Self.gatewayLimit)
        let wait = own.backoff.next(atLeast: backoff.base / 10)
        failures[key] = givesUp ? nil : own
        return (own.count, givesUp, wait)
    }

    /// The event is settled.
    mutating func end(_ key: String) { failures[key] = nil }
}
