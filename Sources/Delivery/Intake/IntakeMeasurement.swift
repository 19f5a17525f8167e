internal import BotState
package import GatewayClient
internal import Logging
package import Rules

/// Runs a feed's rows through the intake into the queue, without writers: for the benchmark that counts instructions.
package struct IntakeMeasurement: Sendable {
    private let delivery: Delivery

    /// - Parameter directory: For a state. It has a dead letter and a timer of other documents, so that each row is
    ///   looked up.
    /// - Throws: ``StateError``, `RunError`.
    package init(_ gateway: Gateway, _ ruleSet: RuleSet, directory: String) async throws {
        let files = StateFiles(directory: directory, name: "intake")
        try files.createDirectory()
        let address = StateFacts.Address(url: "\(gateway.url)", used: 1)
        let ledger = try Ledger(files, at: address, ruleSetHash: ruleSet.hash)
        let rule = "timed"
        _ = try await ledger.keep([DeadLetter(sequence: nil, id: "dead", revision: nil, reason: "none")])
        let times = [RuleTime(rule: rule, due: .max, hasFired: false)]
        try await ledger.store(Record(times: TimeChanges(documents: [TimedDocument(id: "timed", times: times)])))
        var settings = Delivery.Settings()
        // The queue is never emptied.
        settings.capacity.documents = .max
        settings.capacity.memory = MemoryPool(bytes: 1 << 40)
        delivery = try await Delivery(
            gateway: gateway, ruleSet: ruleSet, ledger: ledger, mode: .follow(nil),
            timers: try await DocumentTimers(ledger, rules: [rule]), settings: settings,
            logger: Logger(label: "intake") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Takes all rows. Those of one document are merged in the queue.
    ///
    /// - Returns: How many documents are in the queue or were merged there.
    package func take(_ batches: [ChangesBatch]) async throws -> Int {
        let intake = delivery.makeIntake()
        for batch in batches { try await intake.take(batch[...], reached: .start) }
        return await delivery.flow.budget.inUse.documents
    }

    /// Closes the state, so that it can be removed.
    package func close() { delivery.ledger.close() }
}
