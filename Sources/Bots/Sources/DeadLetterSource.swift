internal import BotState
internal import Delivery
internal import DocumentFlow
internal import GatewayClient
internal import Logging

/// The current revisions of dead-lettered documents.
struct DeadLetterSource: WorkSource {
    /// Documents per request.
    private static let batchSize = 100

    let gateway: Gateway
    let selection: DeadLetterRetry.Selection
    let outcome: RetryOutcome

    func run(into delivery: Delivery) async throws {
        let (intake, ledger, paused) = (delivery.makeIntake(), delivery.ledger, delivery.pausedRules)
        var reader = DeadLetteredDocumentReader(
            gateway: gateway, decidesDeletions: delivery.decidesDeletions, progress: delivery.progress,
            settings: delivery.settings, logger: delivery.logger)
        switch selection {
        case .numbers(let numbers):
            let documents = try ledger.retriable(ledger.deadLetteredDocuments(numbers), whilePaused: paused)
            outcome.note(documents)
            for start in stride(from: 0, to: documents.count, by: Self.batchSize) {
                let end = min(start + Self.batchSize, documents.count)
                await delivery.noteRequest()
                try await reader.read(documents[start..<end], take: intake.take)
            }
        case .matching(let filter, let last):
            var reached = 0
            while true {
                let documents = try ledger.deadLetteredDocuments(
                    after: reached, upTo: last, limit: Self.batchSize, filter: filter)
                guard let next = documents.last?.deadLetters.first else { return }
                reached = next
                let retriable = try ledger.retriable(documents, whilePaused: paused)
                outcome.note(retriable)
                await delivery.noteRequest()
                try await reader.read(retriable[...], take: intake.take)
            }
        }
    }
}
