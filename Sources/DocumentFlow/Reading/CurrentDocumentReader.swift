package import GatewayClient
package import Logging

/// Reads documents as they are now. Retries temporary failures, halves requests that are too large, and isolates a
/// document that can't be read.
///
/// ``ReadSuspicion`` decides what a failure means; this type sends and waits.
package struct CurrentDocumentReader: Sendable {
    /// The largest answer for a single document: 256 MiB.
    package static let answerLimit = 256 << 20
    /// The largest answer for several documents: 8 MiB. Above it they are requested in parts.
    package static let answerLimitForSeveral = 8 << 20

    private let gateway: Gateway
    private let probe: GatewayProbe
    private let pace: WritePace?
    private var retrier: Retrier

    /// - Parameters:
    ///   - pace: The write rate of this gateway. A 429 or 503 to a read lowers it, too.
    ///   - noteRetry: Called for each request that is sent again.
    package init(
        gateway: Gateway, policy: RetryPolicy, pauses: Pauses = Pauses(), pace: WritePace? = nil, logger: Logger,
        noteRetry: @escaping @Sendable () async -> Void
    ) {
        self.gateway = gateway
        self.pace = pace
        probe = GatewayProbe(gateway: gateway, pauses: pauses)
        retrier = Retrier(policy, pauses: pauses, logger: logger, noteRetry: noteRetry)
    }

    /// One lookup per id, in the same order. A document that can't be read is `.refused`: its answer is too large or
    /// never valid, although the gateway answers other requests.
    ///
    /// - Parameters:
    ///   - includesBodies: If false, documents that are found have the body `{}`.
    ///   - limit: The largest answer for several documents, in bytes.
    /// - Throws: ``RunError`` when the retry policy gives up, `CancellationError`.
    package mutating func read(
        _ ids: ArraySlice<DocumentID>, includesBodies: Bool = true, limit: Int = answerLimitForSeveral
    ) async throws -> [DocumentLookup] {
        var found: [DocumentLookup] = []
        try await read(ids, includesBodies: includesBodies, limit: limit) { _, lookups in found += lookups }
        return found
    }

    /// The same, delivered in parts as answers arrive.
    ///
    /// - Throws: Also what `take` throws.
    package mutating func read(
        _ ids: ArraySlice<DocumentID>, includesBodies: Bool = true, limit: Int = answerLimitForSeveral,
        take: (ArraySlice<DocumentID>, [DocumentLookup]) async throws -> Void
    ) async throws {
        var parts = ids.isEmpty ? [] : [ids]
        while let part = parts.popLast() {
            if let lookups = try await answer(for: part, includesBodies: includesBodies, limit: limit) {
                try await take(part, lookups)
            } else {
                let middle = part.startIndex + part.count / 2
                parts += [part[middle...], part[..<middle]]
            }
        }
    }

    /// Nil if the request must be split.
    private mutating func answer(
        for ids: ArraySlice<DocumentID>, includesBodies: Bool, limit: Int
    ) async throws -> [DocumentLookup]? {
        let isSingle = ids.count == 1
        var suspicion = ReadSuspicion(documents: ids.count)
        while true {
            do throws(GatewayError) {
                let lookups = try await gateway.currentDocuments(
                    Array(ids), includesBodies: includesBodies, limit: isSingle ? Self.answerLimit : limit)
                retrier.succeed()
                return lookups
            } catch {
                var advice = suspicion.advice(after: error)
                if case .ask = advice { advice = suspicion.advice(givenThatGatewayAnswers: await probe.isAnswered()) }
                switch advice {
                case .halve: return nil
                case .giveUp: return [.refused(reason: error.message)]
                case .wait, .ask:
                    await pace?.noteRefusal(error)
                    try await retrier.wait(after: error, "documents can't be read; trying again")
                }
            }
        }
    }
}
