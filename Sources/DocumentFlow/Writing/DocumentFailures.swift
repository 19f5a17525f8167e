internal import GatewayClient

/// Documents over which the gateway fails while it writes others: how often, and when they are given up.
///
/// A value, one for each writer: it is told of answers, row by row, and says what they mean.
struct DocumentFailures: Sendable {
    /// A document's part of a `_bulk_docs` answer.
    struct Row {
        let id: DocumentID
        /// Of the document.
        let bytes: Int
        let outcome: BulkOutcome
    }

    /// How often the gateway failed over a document while it wrote others.
    private struct Failures {
        var count = 0
        /// Bytes of the run that had got through by the last time.
        var bytes = 0
        var last: ContinuousClock.Instant
    }

    /// Failures of a document where the gateway's words tell that it is the document, after which it is given up.
    private static let ownFailuresBeforeRejecting = 3
    /// Documents in a row that a firewall may refuse. After that, it is taken to refuse all writes.
    private static let mostFirewalled = 20
    private static let mostRemembered = 1000

    private var failures: [DocumentID: Failures] = [:]
    private var firewalled = 0

    // MARK: - A firewall

    /// Whether documents that are refused one by one are still taken for the doing of a firewall before the gateway.
    var mayBeFirewall: Bool { firewalled < Self.mostFirewalled }

    /// A single document was refused while other writes pass.
    mutating func noteFirewalled() { firewalled += 1 }

    // MARK: - The gateway

    /// Whether the gateway failed over the document not long ago, while it wrote others.
    func hasFailed(_ id: DocumentID, now: ContinuousClock.Instant = .now) -> Bool { recent(id, now) != nil }

    /// The failure of a whole answer; nil if it is none.
    ///
    /// Rows that all tell of a gateway that failed over them are no better than an answer that does, unless it is known
    /// that it fails over these documents only.
    ///
    /// - Parameter bytes: Of the run, that had got through before.
    func outage(in rows: [Row], bytes: Int, now: ContinuousClock.Instant = .now) -> GatewayError? {
        var words: String?
        for row in rows {
            guard case .failed(let reason) = row.outcome else { return nil }
            let isKnown = row.outcome.isOwnFailure || recent(row.id, now).map { $0.bytes < bytes } ?? false
            if !isKnown { words = reason }
        }
        let isOwn = rows.contains { $0.outcome.isOwnFailure }
        return isOwn ? nil : words.map { GatewayError(.serverError, $0, status: 500) }
    }

    /// The outcomes of an answer that is no outage's. Documents over which the gateway fails again and again, while it
    /// writes others, are given up.
    ///
    /// - Parameter bytes: Of the run, that had got through before.
    mutating func judge(_ rows: [Row], bytes: Int, now: ContinuousClock.Instant = .now) -> [BulkOutcome] {
        let written = rows.writtenBytes
        var counted: Set<DocumentID> = []
        return rows.map { row in
            guard case .failed(let reason) = row.outcome else {
                if row.outcome.isWritten { (failures[row.id], firewalled) = (nil, 0) }
                return row.outcome
            }
            var failure = recent(row.id, now) ?? Failures(last: now)
            guard written > 0 || row.outcome.isOwnFailure || failure.count > 0 && failure.bytes < bytes else {
                // Beside failures that are the documents' own there may be those of an outage.
                return rows.contains { $0.outcome.isOwnFailure } ? .undecided(reason: reason) : row.outcome
            }
            if counted.insert(row.id).inserted { failure.count += 1 }
            (failure.bytes, failure.last) = (bytes + written, now)
            let limit =
                row.outcome.isOwnFailure
                ? Self.ownFailuresBeforeRejecting : WriteSuspicion.failuresBeforeRejecting
            remember(failure.count < limit ? failure : nil, row.id, now)
            return failure.count < limit ? row.outcome : .rejected(status: 500, reason: reason)
        }
    }

    /// Nil if that is long ago.
    private func recent(_ id: DocumentID, _ now: ContinuousClock.Instant) -> Failures? {
        failures[id].flatMap { $0.last.duration(to: now) < WriteSuspicion.longestDoubt ? $0 : nil }
    }

    /// Documents may be done with in other ways: what is old goes.
    private mutating func remember(_ failure: Failures?, _ id: DocumentID, _ now: ContinuousClock.Instant) {
        failures[id] = failure
        guard failures.count > Self.mostRemembered else { return }
        failures = failures.filter { $0.value.last.duration(to: now) < WriteSuspicion.longestDoubt }
    }
}

extension [DocumentFailures.Row] {
    /// Of the documents that were written.
    var writtenBytes: Int { reduce(0) { $0 + ($1.outcome.isWritten ? $1.bytes : 0) } }
}

extension BulkOutcome {
    var isWritten: Bool {
        if case .written = self { true } else { false }
    }
}
