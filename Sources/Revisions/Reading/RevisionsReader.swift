package import DocumentFlow
package import GatewayClient
internal import Logging
package import LosslessJSON

/// Reads revisions with their histories by `_bulk_get`.
///
/// Repeats the request for revisions that an incomplete answer did not contain. If requests keep returning nothing, it
/// halves them until it finds the failing revision, and reports that one.
package struct RevisionsReader: Sendable {
    /// Revisions per request. The revisions of one document stay together.
    package static let requestSize = 200

    /// The result for a revision.
    package enum Answer: Sendable {
        case revision(JSONText, BulkGetKey)
        case unreadable(BulkGetKey, reason: String)
    }

    package typealias Receive = nonisolated(nonsending) (Answer) async throws -> Void

    private let gateway: Gateway
    private let contact: GatewayContact
    /// A revision that arrives is a success.
    private let history = SharedHistory()

    package init(gateway: Gateway, contact: GatewayContact) {
        self.gateway = gateway
        self.contact = contact
    }

    /// The leaf revisions of a changed document.
    package static func leaves(of change: Change) -> [BulkGetKey] {
        switch change.kind {
        case .principal, .revoked, .failure: return []
        case .removed where !change.isDeleted: return []
        case .document, .tombstone, .removed, .withoutBody, .malformed:
            return change.revisions.map { BulkGetKey(id: change.id, revision: $0) }
        }
    }

    /// The revisions of a document that the gateway still has, of those wanted.
    ///
    /// - Throws: `RunError`, `CancellationError`.
    package func revisions(_ wanted: Set<String>, of id: DocumentID) async throws -> [String: JSONText] {
        let keys = wanted.sorted().map { BulkGetKey(id: id, revision: RevisionID($0)) }
        return try await revisions(keys).reduce(into: [:]) { found, revision in
            found[revision.key.revision?.text ?? ""] = revision.value
        }
    }

    /// The revisions that the gateway still has.
    ///
    /// - Throws: `RunError`, `CancellationError`.
    func revisions(_ keys: [BulkGetKey]) async throws -> [BulkGetKey: JSONText] {
        var found: [BulkGetKey: JSONText] = [:]
        guard !keys.isEmpty else { return found }
        try await read(keys) { answer in
            if case .revision(let text, let key) = answer { found[key] = text }
        }
        return found
    }

    /// - Parameter receive: Receives each revision as it arrives.
    /// - Throws: `RunError`, `CancellationError`, and what `deliver` throws.
    package nonisolated(nonsending) func read(_ keys: [BulkGetKey], deliver receive: Receive) async throws {
        var left = RemainingRevisions(keys, retryFor: contact.settings.retryFor)
        var retrier = contact.makeRetrier()
        while !left.isEmpty {
            let asked = left.next
            do {
                var answer = try await gateway.bulkGet(asked, includesHistory: true)
                let wanted = WantedRevisions(asked)
                while let item = try await answer.next() {
                    retrier.succeed()
                    try await handle(item, wanted, of: &left, receive)
                }
                for key in left.unanswered(of: asked) {
                    try await receive(.unreadable(key, reason: left.reason(for: key)))
                }
                left.remove(asked)
                left.resetFailures()
            } catch let error as GatewayError {
                try contact.requireRunCanContinue(after: error)
                if left.hasProgressed(since: asked) {
                    left.resetFailures()
                    try await retrier.wait(
                        after: error, "reading the revisions was interrupted; continuing after the last one")
                } else if let key = try await retryOrGiveUp(asked, error, &left, &retrier) {
                    try await receive(.unreadable(key, reason: error.description))
                    left.remove([key])
                    left.resetFailures()
                }
            }
        }
    }

    private nonisolated(nonsending) func handle(
        _ item: BulkGetItem, _ wanted: WantedRevisions, of left: inout RemainingRevisions, _ receive: Receive
    ) async throws {
        switch item {
        case .attachment: break
        case .malformed(let damage): left.note(damage.reason, of: damage.id)
        case .unavailable(let refusal):
            let key = BulkGetKey(id: refusal.id, revision: refusal.revision)
            guard wanted.contains(refusal.id) else { return left.note(refusal.reason, of: nil) }
            left.noteArrival(of: key)
            try await receive(.unreadable(key, reason: refusal.reason))
        case .revision(let text):
            guard let id = text.root["_id"]?.string, let revision = text.root["_rev"]?.string else { return }
            let key = BulkGetKey(id: DocumentID(id), revision: RevisionID(revision))
            guard wanted.contains(key) else {
                return wanted.contains(key.id)
                    ? left.note("the gateway answered with another revision, \(revision)", of: key.id)
                    : left.note("the gateway answered with another document", of: nil)
            }
            left.noteArrival(of: key)
            history.noteSuccess()
            try await receive(.revision(text, key))
        }
    }

    /// Handles a request that returned nothing: waits, or makes the next request smaller.
    ///
    /// - Returns: The revision to give up; nil to continue.
    private nonisolated(nonsending) func retryOrGiveUp(
        _ asked: [BulkGetKey], _ error: GatewayError, _ left: inout RemainingRevisions, _ retrier: inout Retrier
    ) async throws -> BulkGetKey? {
        let wasOnline = try await contact.waitUntilOnline(gateway)
        if !wasOnline {
            let isFailure = left.noteOutage()
            if !isFailure { return nil }
        }
        switch left.advice(after: error, asked.count, history) {
        case .halve: left.halve()
        case .wait:
            try await retrier.pause(
                left.wait(after: error), after: error, "_bulk_get returned no revisions; retrying",
                [LogKey.revisions: "\(asked.count)"])
        case .giveUp: return asked.first
        case .ask:
            if let key = asked.first, try await othersAreReadable(than: key, left, error) { return key }
            try await retrier.wait(after: error, "_bulk_get returned no revisions; retrying")
        }
        return nil
    }

    /// Whether another revision can be read, so that only this one fails. No revision has arrived yet.
    private func othersAreReadable(
        than key: BulkGetKey, _ left: RemainingRevisions, _ error: GatewayError
    ) async throws -> Bool {
        // There is no other revision to try. These statuses concern the user, the keyspace or the request, and would
        // affect any other revision, too.
        guard let other = left.last, other != key else { return ![401, 403, 404, 405].contains(error.status) }
        do {
            var answer = try await gateway.bulkGet([other], includesHistory: true)
            while try await answer.next() != nil {}
            return true
        } catch {
            if error.code == .cancelled { throw CancellationError() }
            return false
        }
    }
}

/// What a request asks for. A gateway, or a proxy with a wrong cache, may answer with something else.
private struct WantedRevisions {
    private let keys: Set<BulkGetKey>
    private let ids: Set<DocumentID>

    init(_ asked: [BulkGetKey]) { (keys, ids) = (Set(asked), Set(asked.map(\.id))) }

    func contains(_ id: DocumentID) -> Bool { ids.contains(id) }

    func contains(_ key: BulkGetKey) -> Bool { keys.contains(key) || keys.contains(BulkGetKey(id: key.id)) }
}

/// The revisions that have not arrived yet, including those of later requests, and the size of the next request.
struct RemainingRevisions {
    private var keys: ArraySlice<BulkGetKey>
    /// Revisions per request.
    private var size: Int
    /// A request that has not failed.
    private let fresh: FailingRequest
    /// The failures of the next request.
    private var suspect: FailingRequest
    /// Why bodies could not be read, by document; under nil for those whose document is not known.
    private var reasons: [DocumentID?: String] = [:]

    init(_ keys: [BulkGetKey], retryFor: Duration) {
        self.keys = keys[...]
        size = max(1, keys.count)
        fresh = FailingRequest(retryFor: retryFor, requiresOtherSuccess: true)
        suspect = fresh
    }

    var isEmpty: Bool { keys.isEmpty }
    var last: BulkGetKey? { keys.last }
    /// The revisions to request next.
    var next: [BulkGetKey] { Array(keys.prefix(size)) }

    /// Records that a revision has arrived. A key without a revision stands for all revisions of the document.
    mutating func noteArrival(of key: BulkGetKey) {
        guard key.revision != nil else { return keys.removeAll { $0.id == key.id } }
        // They usually arrive in the order of the request.
        if keys.first == key { keys.removeFirst() } else { keys.removeAll { $0 == key } }
    }

    /// Whether any of the requested revisions have arrived.
    func hasProgressed(since asked: [BulkGetKey]) -> Bool { next != asked }

    func unanswered(of asked: [BulkGetKey]) -> [BulkGetKey] { asked.filter { keys.contains($0) } }

    /// Removes revisions that need not be requested again.
    mutating func remove(_ asked: [BulkGetKey]) { keys.removeAll { asked.contains($0) } }

    /// Notes why a revision can't be read.
    ///
    /// - Parameter id: Nil: it is not known of which document.
    mutating func note(_ reason: String, of id: DocumentID?) { reasons[id] = reason }

    func reason(for key: BulkGetKey) -> String {
        reasons[key.id] ?? reasons[nil] ?? "the gateway's answer does not include this revision"
    }

    // MARK: - Failures

    /// Resets after an answer or a revision that was given up: the next request has no failures and may be twice as
    /// large.
    mutating func resetFailures() {
        size = min(size * 2, max(1, keys.count))
        suspect = fresh
    }

    /// - Returns: Whether the outage counts as a failure of the request.
    mutating func noteOutage() -> Bool { suspect.noteOutage() }

    /// Decides what to do after a request for `count` revisions that returned none.
    mutating func advice(after error: GatewayError, _ count: Int, _ history: SharedHistory) -> ReadAdvice {
        history.with { suspect.advice(after: error, items: count, &$0) }
    }

    mutating func halve() {
        size = max(1, min(size, keys.count) / 2)
        suspect = suspect.half(items: size)
    }

    mutating func wait(after error: GatewayError) -> Duration { suspect.wait(after: error) }
}
