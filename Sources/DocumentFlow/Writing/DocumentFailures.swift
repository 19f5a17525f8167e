internal import GatewayClient

/// Counts how often the gateway fails to write a document while it writes others, and gives such documents up.
///
/// A value, one per writer. Receives the rows of answers and interprets them.
struct DocumentFailures: Sendable {
    /// A document's part of a `_bulk_docs` answer.
    struct Row {
        let id: DocumentID
        /// Size of the document.
        let bytes: Int
        let outcome: BulkOutcome
    }

    /// Failures of one document while others were written.
    private struct Failures {
        var count = 0
        /// Bytes that the run had written at the last of them.
        var bytes = 0
        var last: ContinuousClock.Instant
    }

    /// Failures after which a document is given up, if the gateway's message shows that it is the cause.
    private static let maxOwnFailures = 3
    /// The maximum number of consecutive documents that count as blocked by a firewall. After that, it is assumed to
    /// refuse all writes.
    private static let maxFirewalled = 20
    private static let maxRemembered = 1000
    /// No server refuses requests of this size: 64 KiB.
    private static let acceptedSize = 64 << 10
    /// How long a failure is remembered: its document may have been settled in another way.
    private static let failureLifetime: Duration = .seconds(600)

    private var failures: [DocumentID: Failures] = [:]
    private var firewalled = 0
    private var cuts = 0

    // MARK: - Requests that are cut

    /// Records that a single document was given up because its requests always lose the connection.
    mutating func noteCut() { cuts += 1 }

    /// How often a request may lose the connection. Less often after the first such document, and if the request is
    /// larger than any that was accepted: a server or a proxy closes the connection if a body is too large.
    ///
    /// - Parameters:
    ///   - bytes: The size of the request.
    ///   - largest: The size of the largest request that was accepted.
    func limits(afterCutRequestOf bytes: Int, largestWritten largest: Int) -> WriteFailurePolicy.CutLimits {
        cuts > 0 || bytes > max(largest, Self.acceptedSize) ? .ifTooLarge : .usual
    }

    // MARK: - A firewall

    /// Whether documents that are refused individually still count as blocked by a firewall in front of the gateway.
    var mayBeFirewall: Bool { firewalled < Self.maxFirewalled }

    /// Records that a single document was refused while other writes succeeded.
    mutating func noteFirewalled() { firewalled += 1 }

    // MARK: - The gateway

    /// Whether the gateway recently failed to write the document while it wrote others.
    func hasFailed(_ id: DocumentID, now: ContinuousClock.Instant = .now) -> Bool { recent(id, now) != nil }

    /// The error of a whole answer. Nil if only single rows failed.
    ///
    /// If all rows failed, the request counts as failed, unless each document is a known cause, or the gateway's own
    /// function failed on one of them.
    ///
    /// - Parameter bytes: The bytes that the run had written before.
    func outage(in rows: [Row], bytes: Int, now: ContinuousClock.Instant = .now) -> GatewayError? {
        var unexplained: String?
        for row in rows {
            guard case .failed(let reason) = row.outcome else { return nil }
            let isKnown = row.outcome.isOwnFailure || recent(row.id, now).map { $0.bytes < bytes } ?? false
            if !isKnown { unexplained = reason }
        }
        let isOwn = rows.contains { $0.outcome.isOwnFailure }
        return isOwn ? nil : unexplained.map { GatewayError(.serverError, $0, status: 500) }
    }

    /// The outcomes of an answer that is not an outage. Documents that keep failing while others are written become
    /// `.rejected`.
    ///
    /// - Parameter bytes: The bytes that the run had written before.
    mutating func outcomes(for rows: [Row], bytes: Int, now: ContinuousClock.Instant = .now) -> [BulkOutcome] {
        let written = rows.writtenBytes
        var counted: Set<DocumentID> = []
        return rows.map { row in
            guard case .failed(let reason) = row.outcome else {
                if row.outcome.isWritten { (failures[row.id], firewalled) = (nil, 0) }
                return row.outcome
            }
            var failure = recent(row.id, now) ?? Failures(last: now)
            guard written > 0 || row.outcome.isOwnFailure || failure.count > 0 && failure.bytes < bytes else {
                // An outage may also have caused failures.
                return rows.contains { $0.outcome.isOwnFailure } ? .undecided(reason: reason) : row.outcome
            }
            if counted.insert(row.id).inserted { failure.count += 1 }
            (failure.bytes, failure.last) = (bytes + written, now)
            let limit = row.outcome.isOwnFailure ? Self.maxOwnFailures : AttemptLimits.failures
            remember(failure.count < limit ? failure : nil, row.id, now)
            return failure.count < limit ? row.outcome : .rejected(status: 500, reason: reason)
        }
    }

    /// Nil if the last failure is too long ago.
    private func recent(_ id: DocumentID, _ now: ContinuousClock.Instant) -> Failures? {
        failures[id].flatMap { $0.last.duration(to: now) < Self.failureLifetime ? $0 : nil }
    }

    /// Drops old entries if there are many.
    private mutating func remember(_ failure: Failures?, _ id: DocumentID, _ now: ContinuousClock.Instant) {
        failures[id] = failure
        guard failures.count > Self.maxRemembered else { return }
        failures = failures.filter { $0.value.last.duration(to: now) < Self.failureLifetime }
    }
}

extension [DocumentFailures.Row] {
    /// Bytes of the documents that were written.
    var writtenBytes: Int { reduce(0) { $0 + ($1.outcome.isWritten ? $1.bytes : 0) } }
}

extension BulkOutcome {
    package var isWritten: Bool {
        if case .written = self { true } else { false }
    }
}
