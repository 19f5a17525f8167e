package import DocumentFlow
package import GatewayClient
internal import Locking
package import Logging

/// Stores revisions with their ids and histories, and repeats requests that fail.
///
/// Its copies are about the same run, and may be used at the same time.
package struct RevisionSender: Sendable {
    /// - Returns: Whether that was the last word about this revision: otherwise it is sent again.
    package typealias Settle = @Sendable (PreparedRevision, BulkOutcome) -> Bool

    private let gateway: Gateway
    private let retries: RetryPolicy.Settings
    private let pauses: Pauses
    private let logger: Logger
    private let progress = RunProgress(start: .start)
    private let pace = WritePace()
    /// What is in the report of ``progress``.
    private let sent = Locked(RunCounters())
    private var sender: BulkSender

    package init(gateway: Gateway, retries: RetryPolicy.Settings, pauses: Pauses = Pauses(), logger: Logger) {
        self.gateway = gateway
        self.retries = retries
        self.pauses = pauses
        self.logger = logger
        sender = BulkSender(
            gateway: gateway, progress: progress, pace: pace, pauses: pauses,
            policy: RetryPolicy.ofKnownGateway(retries), logger: logger)
    }

    /// A sender without failures so far.
    package func forOneBatch() -> RevisionSender {
        var copy = self
        copy.sender = BulkSender(
            gateway: gateway, progress: progress, pace: pace, pauses: pauses,
            policy: RetryPolicy.ofKnownGateway(retries), logger: logger)
        return copy
    }

    /// Repeats revisions that the gateway did not decide, until the sender gives up.
    ///
    /// - Throws: `RunError`, `CancellationError`. Some revisions may have been stored.
    package mutating func storeTogether(_ revisions: [PreparedRevision], _ settle: Settle) async throws {
        var open = revisions
        while !open.isEmpty {
            try Task.checkCancellation()
            let asked = open
            var again: [PreparedRevision] = []
            try await sender.send(
                asked.map(\.document)[...],
                by: { [gateway] part async throws(GatewayError) in
                    try await gateway.storeRevisions(
                        asked[part.indices].map { RevisionToStore($0.document, revision: $0.id) })
                },
                answered: { answered, outcomes in
                    for (revision, outcome) in zip(asked[answered], outcomes) where !settle(revision, outcome) {
                        again.append(revision)
                    }
                })
            open = again
        }
    }

    /// Stores a revision with streamed attachments or with stubs.
    ///
    /// - Parameter whole: The same revision with the bytes of all attachments, for a gateway that lacks one after all.
    /// - Throws: `RunError`, `CancellationError`, what `whole` throws.
    package mutating func storeAlone(
        _ prepared: PreparedRevision, _ settle: Settle, whole: () async throws -> PreparedRevision?
    ) async throws {
        var revision = prepared
        while true {
            try Task.checkCancellation()
            var last: BulkOutcome?
            let asked = revision
            try await sender.send(
                [asked.document], isPut: true,
                by: { [gateway] _ async throws(GatewayError) in [try await Self.put(asked, at: gateway)] },
                answered: { _, outcomes in last = outcomes.first })
            guard let last else { return }
            if case .rejected = last, asked.hasStubs {
                guard let complete = try await whole() else { return }
                revision = complete
                continue
            }
            if settle(asked, last) { return }
        }
    }

    private static func put(_ revision: PreparedRevision, at gateway: Gateway) async throws(GatewayError) -> BulkOutcome
    {
        do throws(GatewayError) {
            let id = try await gateway.storeRevision(
                revision.document.id, body: revision.body, attachments: revision.uploads.map(\.upload))
            return .written(id)
        } catch {
            // CouchDB's `missing_stub`, and Sync Gateway's answers to stubs that it can't resolve.
            if revision.hasStubs, let status = error.status, [400, 404, 409, 412].contains(status) {
                return .rejected(status: status, reason: error.message)
            }
            switch error.code {
            case .conflict: return .conflict
            case .invalidRequest, .sourceFailed: return .rejected(status: 400, reason: error.message)
            default: throw error
            }
        }
    }

    /// What was sent since the last call: `writeRequests`, `bytesOut` and `retries`.
    package func newRequests() async -> RunCounters {
        let now = await progress.counters
        let before = sent.withLock { sent in
            defer { sent = now }
            return sent
        }
        return now.difference(from: before)
    }
}
