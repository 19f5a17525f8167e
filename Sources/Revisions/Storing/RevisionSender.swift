package import DocumentFlow
package import GatewayClient
internal import Locking
package import Logging

/// Stores revisions with their ids and histories, and retries failed requests.
///
/// It sends them in batches, which may be in progress at the same time.
package struct RevisionSender: Sendable {
    private let gateway: Gateway
    private let retries: RetryPolicy.Settings
    private let pauses: Pauses
    private let batchBytes: Int
    private let logger: Logger
    private let progress = RunProgress(start: .start)
    private let pace = WritePace()
    /// The part of ``progress`` that was already reported.
    private let sent = Locked(RunCounters())

    /// - Parameter batchBytes: Bytes of revisions per request. Default: 2 MiB.
    package init(
        gateway: Gateway, retries: RetryPolicy.Settings, pauses: Pauses = Pauses(), batchBytes: Int = 2 << 20,
        logger: Logger
    ) {
        self.gateway = gateway
        self.retries = retries
        self.pauses = pauses
        self.batchBytes = batchBytes
        self.logger = logger
    }

    package func makeBatch() -> RevisionBatch {
        let sender = BulkSender(
            gateway: gateway, progress: progress, pace: pace, pauses: pauses,
            policy: RetryPolicy.forKnownGateway(retries), logger: logger)
        return RevisionBatch(gateway: gateway, sender: sender, byteLimit: batchBytes)
    }

    /// The counts since the last call: `writeRequests`, `bytesOut` and `retries`.
    package func newRequests() async -> RunCounters {
        let now = await progress.counters
        let before = sent.withLock { sent in
            defer { sent = now }
            return sent
        }
        return now.difference(from: before)
    }
}
