package import GatewayClient
package import Logging

/// Reads the current revisions of documents. Retries temporary failures, halves requests that are too large, and
/// isolates unreadable documents.
///
/// ``ReadFailurePolicy`` interprets failures; this type sends and waits.
package struct CurrentDocumentReader: Sendable {
    /// The largest answer for a single document: 256 MiB.
    package static let answerLimit = 256 << 20
    /// The largest answer for several documents: 8 MiB. Larger ones are requested in parts.
    package static let batchAnswerLimit = 8 << 20

    /// How often a missing keyspace is asked again, and how long before each time.
    private static let missingAttempts = 3
    private static let missingWait: Duration = .milliseconds(300)

    private let gateway: Gateway
    private let pauses: Pauses
    private let probe: GatewayProbe
    private let pace: WritePace?
    private var retrier: Retrier
    /// The name of the keyspace, if it is not the one that the run follows. If it does not exist, its documents are
    /// `.refused`, so that those that don't need it are written.
    package var otherKeyspace: String?
    /// The number of documents of unknown size to request together: as many as fitted before.
    package private(set) var most = Int.max

    /// - Parameters:
    ///   - pace: The write rate of this gateway. A 429 or 503 for a read also lowers it.
    ///   - noteRetry: Called for each request that is sent again.
    package init(
        gateway: Gateway, policy: RetryPolicy, pauses: Pauses = Pauses(), pace: WritePace? = nil, logger: Logger,
        noteRetry: @escaping @Sendable () async -> Void
    ) {
        self.gateway = gateway
        self.pauses = pauses
        self.pace = pace
        probe = GatewayProbe(gateway: gateway, pauses: pauses)
        retrier = Retrier(policy, pauses: pauses, logger: logger, noteRetry: noteRetry)
    }

    /// Returns one lookup for each id, in the same order. An unreadable document is `.refused`: its answer is too large
    /// or always invalid, although the gateway answers other requests.
    ///
    /// - Parameters:
    ///   - includesBodies: If false, documents that are found have the body `{}`.
    ///   - limit: The largest answer for several documents, in bytes.
    /// - Throws: ``RunError`` when the retry policy gives up, `CancellationError`.
    package mutating func read(
        _ ids: ArraySlice<DocumentID>, includesBodies: Bool = true, limit: Int = batchAnswerLimit
    ) async throws -> [DocumentLookup] {
        var found: [DocumentLookup] = []
        try await read(ids, includesBodies: includesBodies, limit: limit) { _, lookups in found += lookups }
        return found
    }

    /// Like the other `read`, but delivers results in parts as answers arrive.
    ///
    /// - Throws: Also what `take` throws.
    package mutating func read(
        _ ids: ArraySlice<DocumentID>, includesBodies: Bool = true, limit: Int = batchAnswerLimit,
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

    /// Reads the first documents: as many as fit into an answer of `limit` bytes. A single document may be larger.
    ///
    /// - Returns: One lookup for each document that was read, in the same order. Nil if no two of them fit, and none
    ///   was read; the next call then reads one.
    /// - Throws: ``RunError`` when the retry policy gives up, `CancellationError`.
    package mutating func readBatch(_ ids: ArraySlice<DocumentID>, limit: Int) async throws -> [DocumentLookup]? {
        while true {
            let part = ids.prefix(most)
            if let lookups = try await answer(for: part, includesBodies: true, limit: limit) {
                let bytes = lookups.reduce(0) { $0 + $1.byteCount }
                // Doubles only if twice as many are likely to fit.
                if part.count == most, bytes <= limit / 4 { most = most > Int.max / 2 ? .max : most * 2 }
                return lookups
            }
            most = max(1, part.count / 2)
            if most == 1 { return nil }
        }
    }

    /// The maximum number of concurrent reads.
    private static let documentsAtOnce = 8

    /// Reads revisions by their ids, including deleted ones: lists only show that a document is deleted. Starts no
    /// further read once `limit` bytes have arrived.
    ///
    /// - Returns: Lookups for the first ids, at least one, in the same order: `.found`, also for a deleted revision;
    ///   `.missing` if the gateway does not have it; `.refused`.
    /// - Throws: ``RunError`` when the retry policy gives up, `CancellationError`.
    package func readRevisions(
        _ revisions: [(id: DocumentID, revision: RevisionID)], limit: Int
    ) async throws -> [DocumentLookup] {
        try await readEach(revisions.count, limit) { gateway, index throws(GatewayError) in
            let (id, revision) = revisions[index]
            return try await gateway.document(id, revision: revision, with: []).map { .found(revision, $0) } ?? .missing
        }
    }

    /// Reads the current tombstones, which Sync Gateway's lists don't show. Starts no further read once `limit` bytes
    /// have arrived.
    ///
    /// - Returns: Lookups for the first documents, at least one, in the same order: `.found` with the winning
    ///   tombstone; `.missing` if there is none, or this user may not see it; `.refused`.
    /// - Throws: ``RunError`` when the retry policy gives up, `CancellationError`.
    package func readTombstones(of ids: [DocumentID], limit: Int) async throws -> [DocumentLookup] {
        try await readEach(ids.count, limit) { gateway, index throws(GatewayError) in
            do throws(GatewayError) {
                let leaves = try await gateway.openRevisions(of: ids[index])
                return leaves.winningTombstone.map { .found($0.revision, $0.text) } ?? .missing
            } catch {
                guard error.code == .notFound, !error.isAboutKeyspace else { throw error }
                return .missing
            }
        }
    }

    /// - Parameter request: For the document with that index.
    private func readEach(
        _ count: Int, _ limit: Int,
        _ request: @escaping @Sendable (Gateway, Int) async throws(GatewayError) -> DocumentLookup
    ) async throws -> [DocumentLookup] {
        try await withThrowingTaskGroup(of: (Int, DocumentLookup).self) { group in
            var found: [Int: DocumentLookup] = [:]
            var begun = 0
            var bytes = 0
            // The first document is read alone, because the others may be as large.
            var largest = limit
            while true {
                while begun < count, bytes < limit,
                    begun - found.count < min(Self.documentsAtOnce, max(1, limit / max(1, largest)))
                {
                    group.addTask { [index = begun] in (index, try await lookUp(index, request)) }
                    begun += 1
                }
                guard let (index, lookup) = try await group.next() else { break }
                largest = found.isEmpty ? lookup.byteCount : max(largest, lookup.byteCount)
                bytes += lookup.byteCount
                found[index] = lookup
            }
            return (0..<begun).compactMap { found[$0] }
        }
    }

    private func lookUp(
        _ index: Int, _ request: (Gateway, Int) async throws(GatewayError) -> DocumentLookup
    ) async throws -> DocumentLookup {
        var reader = self
        let lookups = try await reader.answer(documents: 1) { gateway throws(GatewayError) in
            [try await request(gateway, index)]
        }
        return lookups?.first ?? .missing
    }

    /// Nil if the request must be split.
    private mutating func answer(
        for ids: ArraySlice<DocumentID>, includesBodies: Bool, limit: Int
    ) async throws -> [DocumentLookup]? {
        try await answer(documents: ids.count) { gateway throws(GatewayError) in
            try await gateway.currentDocuments(
                Array(ids), includesBodies: includesBodies, limit: ids.count == 1 ? Self.answerLimit : limit)
        }
    }

    private mutating func answer(
        documents: Int, _ request: (Gateway) async throws(GatewayError) -> [DocumentLookup]
    ) async throws -> [DocumentLookup]? {
        var failurePolicy = ReadFailurePolicy(documents: documents)
        var missing = 0
        while true {
            do throws(GatewayError) {
                let lookups = try await request(gateway)
                retrier.succeed()
                return lookups
            } catch {
                if let otherKeyspace, error.reportsMissingKeyspace {
                    missing += 1
                    guard missing < Self.missingAttempts else {
                        return Array(
                            repeating: .refused(reason: Self.reason(otherKeyspace, error)), count: documents)
                    }
                    try await pauses.wait(Self.missingWait)
                    continue
                }
                var advice = failurePolicy.advice(after: error)
                if case .ask = advice {
                    advice = failurePolicy.advice(gatewayAnswers: await probe.isAnswered())
                }
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

    private static func reason(_ keyspace: String, _ error: GatewayError) -> String {
        "there is no keyspace '\(keyspace)' for this user; create it, or correct 'keyspace' in the rule, and retry the dead "
            + "letter (\(error.message))"
    }
}

extension GatewayError {
    /// Whether the keyspace does not exist, as opposed to being offline.
    fileprivate var reportsMissingKeyspace: Bool {
        [.databaseMissing, .collectionMissing, .unknownDatabaseOrLogin].contains { $0 == cause }
    }
}
