internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Pipeline
internal import Rules

/// Reads documents that were set aside, as they are now, patiently: what may pass is tried again, what is too much at
/// once is halved, and a document that can't be read is found so that the others can.
struct CurrentDocuments {
    /// Answers to one request that are no JSON, after which it goes on in halves.
    private static let failuresBeforeHalving = 3
    /// A single document is read whatever its size.
    private static let singleAnswerLimit = 256 << 20

    private let gateway: Gateway
    private let decider: Decider
    private let progress: RunProgress
    private let logger: Logger
    private let answerLimit: Int
    private var patience: Patience

    /// - Parameter decider: Tells whether a rule cares for a deleted document.
    init(gateway: Gateway, decider: Decider, progress: RunProgress, settings: Delivery.Settings, logger: Logger) {
        self.gateway = gateway
        self.decider = decider
        self.progress = progress
        self.logger = logger
        answerLimit = settings.memoryBudget
        patience = Patience(settings.patience, hasSucceeded: true)
    }

    /// Reads documents and hands them on, part by part as they come.
    ///
    /// - Throws: ``RunFailure`` when patience ends, `CancellationError`, what `take` throws.
    mutating func read(
        _ documents: ArraySlice<SetAsideDocument>, take: ([RetriedDocument]) async throws -> Void
    ) async throws {
        let unknown = documents.filter { $0.id.text.isEmpty }
        if !unknown.isEmpty { try await take(unknown.map { RetriedDocument($0, .unknown) }) }
        var parts = [documents.filter { !$0.id.text.isEmpty }[...]]
        while let part = parts.popLast() {
            guard !part.isEmpty else { continue }
            guard let lookups = try await lookUp(part.map(\.id)) else {
                let middle = part.startIndex + part.count / 2
                parts.append(part[middle...])
                parts.append(part[..<middle])
                continue
            }
            var read: [RetriedDocument] = []
            for (document, lookup) in zip(part, lookups) {
                read.append(RetriedDocument(document, try await content(of: document.id, lookup)))
            }
            try await take(read)
        }
    }

    /// Nil if fewer must be asked for at once.
    private mutating func lookUp(_ ids: [DocumentID]) async throws -> [DocumentLookup]? {
        let limit = ids.count > 1 ? answerLimit : Self.singleAnswerLimit
        var failures = 0
        while true {
            do throws(GatewayError) {
                let lookups = try await gateway.currentDocuments(ids, limit: limit)
                patience.succeed()
                return lookups
            } catch {
                if error.code == .malformedAnswer { failures += 1 }
                guard
                    error.code == .tooLarge || error.code == .badRequest || failures >= Self.failuresBeforeHalving
                else {
                    try await wait(after: error)
                    continue
                }
                return ids.count > 1 ? nil : [.refused(reason: error.message)]
            }
        }
    }

    private mutating func content(
        of id: DocumentID, _ lookup: DocumentLookup
    ) async throws -> RetriedDocument.Content {
        switch lookup {
        case .found(let revision, let text): .document(revision, text)
        case .deleted(let revision): .tombstone(revision)
        case .missing: try await remains(of: id)
        case .refused(let reason): .unreadable(reason: reason)
        }
    }

    /// Sync Gateway says of a deleted document what it says of none. Where a rule may care, its leaves are asked for.
    private mutating func remains(of id: DocumentID) async throws -> RetriedDocument.Content {
        let tombstone = try? JSONText(RetriedDocument.tombstone(id, nil))
        guard let tombstone, decider.mayFire(on: tombstone.root, isDeleted: true) else { return .gone }
        var failures = 0
        while true {
            do throws(GatewayError) {
                let leaves = try await gateway.openRevisions(of: id)
                patience.succeed()
                return Self.winner(among: leaves).map { .tombstone($0) } ?? .gone
            } catch {
                if error.code == .notFound { return .gone }
                if error.code == .malformedAnswer { failures += 1 }
                if error.code == .badRequest || error.code == .tooLarge || failures >= Self.failuresBeforeHalving {
                    return .unreadable(reason: error.message)
                }
                try await wait(after: error)
            }
        }
    }

    /// Of deleted leaves the one with the most edits; among equals the one with the greater digest.
    private static func winner(among leaves: [OpenRevision]) -> RevisionID? {
        let tombstones = leaves.compactMap { leaf -> RevisionID? in
            guard case .found(let text) = leaf, text.root["_deleted"]?.bool == true else { return nil }
            return text.root["_rev"]?.string.map { RevisionID($0) }
        }
        return tombstones.max { ($0.generation ?? 0, $0.text) < ($1.generation ?? 0, $1.text) }
    }

    private mutating func wait(after error: GatewayError) async throws {
        if error.code == .cancelled { throw CancellationError() }
        switch patience.verdict(on: error) {
        case .end(let failure): throw failure
        case .retry(let delay):
            logger.warning(
                "documents can't be read; trying again", metadata: ["reason": "\(error)", "wait": "\(delay.text)"])
            await progress.count { $0.retries += 1 }
            try await Task.sleep(for: delay)
        }
    }
}
