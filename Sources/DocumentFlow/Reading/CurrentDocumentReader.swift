package import GatewayClient
package import Logging

/// Reads documents as they are now: what may pass is tried again, what is too much at once is halved, and a document that
/// can't be read is found so that the others can.
package struct CurrentDocumentReader: Sendable {
    /// Bytes of an answer that can be held.
    package static let answerLimit = 256 << 20
    /// Bytes of an answer for several documents: more of them are asked for in parts.
    package static let answerLimitForSeveral = 8 << 20

    private let gateway: Gateway
    private let probe: GatewayProbe
    private let pace: WritePace?
    private var retrier: Retrier

    /// - Parameters:
    ///   - pace: Of the writes to this gateway: they slow down too when it asks for time.
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

    /// One lookup per id, in their order. A document that can't be read is `.refused`: its answer is too long to be held,
    /// or never is JSON, while the gateway answers other questions.
    ///
    /// - Parameters:
    ///   - includesBodies: If not, documents that are found have `{}`.
    ///   - limit: Bytes of an answer for several documents.
    /// - Throws: ``RunFailure`` when the retry policy gives up, `CancellationError`.
    package mutating func read(
        _ ids: ArraySlice<DocumentID>, includesBodies: Bool = true, limit: Int = answerLimitForSeveral
    ) async throws -> [DocumentLookup] {
        var found: [DocumentLookup] = []
        try await read(ids, includesBodies: includesBodies, limit: limit) { _, lookups in found += lookups }
        return found
    }

    /// The same, part by part as the answers come.
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

    /// Nil if fewer must be asked for at once.
    private mutating func answer(
        for ids: ArraySlice<DocumentID>, includesBodies: Bool, limit: Int
    ) async throws -> [DocumentLookup]? {
        let isSingle = ids.count == 1
        var failures = 0
        while true {
            do throws(GatewayError) {
                let lookups = try await gateway.currentDocuments(
                    Array(ids), includesBodies: includesBodies, limit: isSingle ? Self.answerLimit : limit)
                retrier.succeed()
                return lookups
            } catch {
                failures = WriteSuspicion.mayBeOfDocuments(error) ? failures + 1 : 0
                let limit =
                    isSingle ? WriteSuspicion.failuresBeforeRejecting : WriteSuspicion.failuresBeforeHalving
                var isRefusal = error.code == .tooLarge || error.code == .badRequest
                if error.code == .forbidden { isRefusal = await probe.isAnswered() }
                if isRefusal || failures >= limit {
                    guard isSingle else { return nil }
                    // Only if it is about this document: the gateway answers properly otherwise.
                    if await probe.isAnswered() { return [.refused(reason: error.message)] }
                }
                await pace?.noteRefusal(error)
                try await retrier.wait(after: error, "documents can't be read; trying again")
            }
        }
    }
}
