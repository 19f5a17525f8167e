internal import GatewayClient
internal import Logging

/// Sends the requests of one writer, patiently: what may pass is tried again, what is too much at once is halved.
struct BulkSender {
    let gateway: Gateway
    let progress: RunProgress
    var patience: Patience
    let logger: Logger
    private var decisions = Backoff()

    init(gateway: Gateway, progress: RunProgress, patience: Patience, logger: Logger) {
        self.gateway = gateway
        self.progress = progress
        self.patience = patience
        self.logger = logger
    }

    /// Writes documents; one outcome for each.
    ///
    /// A 413, and a 400 (CouchDB refuses all for one bad document), are answered by sending half, down to one: the
    /// document that can't be written is found and the others are.
    ///
    /// - Throws: ``RunFailure`` when patience ends, `CancellationError`.
    mutating func send(_ documents: [BulkDocument]) async throws -> [BulkOutcome] {
        while true {
            do throws(GatewayError) {
                let outcomes = try await gateway.bulkDocs(documents)
                patience.succeed()
                let bytes = documents.reduce(0) { $0 + $1.byteCount }
                await progress.count { $0.bytesOut += bytes }
                return outcomes
            } catch {
                guard error.code == .tooLarge || error.code == .badRequest, error.status != 408 else {
                    try await wait(after: error)
                    continue
                }
                guard documents.count > 1 else {
                    return [.rejected(status: error.status ?? 400, reason: error.message)]
                }
                let middle = documents.count / 2
                return try await send(Array(documents[..<middle])) + send(Array(documents[middle...]))
            }
        }
    }

    /// Reads documents as they are now.
    mutating func lookUp(_ ids: [DocumentID]) async throws -> [DocumentLookup] {
        while true {
            do throws(GatewayError) {
                let lookups = try await gateway.allDocs(keys: ids)
                patience.succeed()
                return lookups
            } catch {
                try await wait(after: error)
            }
        }
    }

    /// Waits before documents are written again that the gateway could not decide about; longer each time in a row.
    mutating func pause(after outcomes: [BulkOutcome]) async throws {
        let isUndecided = outcomes.contains { if case .undecided = $0 { true } else { false } }
        guard isUndecided else { return decisions.reset() }
        await progress.count { $0.retries += 1 }
        try await Task.sleep(for: decisions.next())
    }

    private mutating func wait(after error: GatewayError) async throws {
        if error.code == .cancelled { throw CancellationError() }
        switch patience.verdict(on: error) {
        case .end(let failure): throw failure
        case .retry(let delay):
            logger.warning("a write failed; trying again", metadata: ["reason": "\(error)", "wait": "\(delay)"])
            await progress.count { $0.retries += 1 }
            try await Task.sleep(for: delay)
        }
    }
}
