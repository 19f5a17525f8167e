internal import GatewayClient

/// A mark as it stands in the database.
struct FoundMark: Sendable, Equatable {
    let mark: DatabaseMark
    /// How often it was written: a number that only a restored database lowers.
    let generation: Int
}

/// The local document that holds a bot's mark. No feed shows it and no replication carries it.
struct MarkDocument: Sendable {
    let gateway: Gateway
    /// The bot's name.
    let name: String

    private var documentName: String { "changebot.\(name)" }

    /// Nil if there is none.
    func find() async throws(GatewayError) -> FoundMark? { Self.mark(try await gateway.localDocument(documentName)) }

    private static func mark(_ document: LocalDocument?) -> FoundMark? {
        guard let document, let mark = DatabaseMark(document.body) else { return nil }
        return FoundMark(mark: mark, generation: document.writes ?? 0)
    }

    /// Marks the database, unless it was marked in the meantime.
    ///
    /// - Returns: The mark that is there now; how often it was written, if this wrote it.
    func leave() async throws(GatewayError) -> (mark: DatabaseMark, generation: Int?) {
        let new = DatabaseMark.new()
        let left = try await replace { $0 == nil ? new : nil }
        CrashPoint.databaseMarked.pass()
        return (left.mark ?? new, left.generation)
    }

    /// Replaces the mark; retries if somebody else writes it at the same time.
    ///
    /// - Parameter change: Makes the new mark from the current one; nil to leave it.
    /// - Returns: The mark that is there now; how often it was written, if this wrote it.
    func replace(
        _ change: (FoundMark?) -> DatabaseMark?
    ) async throws(GatewayError) -> (mark: DatabaseMark?, generation: Int?) {
        for _ in 0..<5 {
            let found = try await gateway.localDocument(documentName)
            let old = Self.mark(found)
            guard let mark = change(old) else { return (old?.mark, nil) }
            do throws(GatewayError) {
                let revision = try await gateway.saveLocalDocument(
                    documentName, body: mark.json, revision: found?.revision)
                return (mark, LocalDocument(revision: revision, body: []).writes)
            } catch {
                guard error.code == .conflict else { throw error }
            }
        }
        throw GatewayError(.conflict, "\(gateway.url): _local/\(documentName) changes all the time")
    }

    /// Whether an error means that this user may not keep local documents. Not a missing database or a refused
    /// password: those may be temporary, and the feed handles them.
    static func isRefusal(_ error: GatewayError) -> Bool {
        switch error.code {
        case .forbidden, .notOffered, .malformedAnswer: true
        case .cancelled, .unauthorized, .notFound: false
        default: !error.isRetryable
        }
    }
}
