package import GatewayClient
internal import Locking
internal import LosslessJSON

/// The local document that holds a bot's mark. Feeds and replications do not include it.
///
/// Some gateways accept the document but do not keep it, for example a caching proxy, or two databases behind one load
/// balancer. Each write is therefore read back. Once that fails, every call throws `.notOffered`, as for a user without
/// access to local documents.
package struct MarkDocument: Sendable {
    let gateway: Gateway
    /// The bot's name.
    let name: String
    package let trust: MarkReliability

    /// - Parameter trust: Shared by all users of the document in this run.
    package init(gateway: Gateway, name: String, trust: MarkReliability = MarkReliability()) {
        self.gateway = gateway
        self.name = name
        self.trust = trust
    }

    private var documentName: String { "changebot.\(name)" }

    /// Nil if there is none.
    package func find() async throws(GatewayError) -> StoredMark? { Self.mark(try await read()) }

    private func read() async throws(GatewayError) -> LocalDocument? {
        try trust.check(gateway.url)
        trust.noteSending(.read)
        let found = try await gateway.localDocument(documentName)
        trust.noteAnswer(.read)
        return found
    }

    /// Reads a mark that was just written.
    ///
    /// - Parameter isFirst: There was no mark before.
    /// - Throws: `.notOffered` if the database does not return it. It is read twice, because a node of a cluster may be
    ///   late.
    private func confirm(_ mark: DatabaseMark, generation: Int?, isFirst: Bool) async throws(GatewayError) {
        var found = try await find()
        if !isWritten(mark, generation, found) {
            try? await Task.sleep(for: Self.lateness)
            found = try await find()
        }
        guard !isWritten(mark, generation, found) else { return }
        // Marks were kept until now: the database may have been recreated since the write. The next check decides that.
        if !isFirst, found?.mark.identity != mark.identity { return }
        let state =
            found.map { $0.mark.identity == mark.identity ? "unchanged" : "with another identity" } ?? "as missing"
        throw giveUp("_local/\(documentName) was written, but read back \(state)")
    }

    /// The longest time that a cluster needs to return a write.
    private static let lateness: Duration = .milliseconds(500)

    /// Whether `found` is the mark that was written, or a later one of the same database.
    private func isWritten(_ mark: DatabaseMark, _ generation: Int?, _ found: StoredMark?) -> Bool {
        guard let found else { return false }
        if found.mark == mark { return true }
        return found.mark.identity == mark.identity && generation.map { found.generation > $0 } ?? false
    }

    /// Gives up the marks of this database: no call reads or writes them afterwards.
    func giveUp(_ reason: String) -> GatewayError {
        trust.giveUp(reason)
        return MarkReliability.refusal(gateway.url, reason)
    }

    private static func mark(_ document: LocalDocument?) -> StoredMark? {
        guard let document, let mark = DatabaseMark(document.body) else { return nil }
        return StoredMark(mark: mark, generation: document.writes ?? 0)
    }

    /// Marks the database, unless it was marked in the meantime.
    ///
    /// - Returns: The current mark; how many times it was written, if this call wrote it.
    package func create() async throws(GatewayError) -> (mark: DatabaseMark, generation: Int?) {
        let new = DatabaseMark.new()
        let left = try await replace { $0 == nil ? new : nil }
        CrashPoint.databaseMarked.pass()
        return (left.mark ?? new, left.generation)
    }

    /// Replaces the mark. Retries if another process writes it at the same time.
    ///
    /// - Parameter change: Makes the new mark from the current one; nil to leave it.
    /// - Returns: The current mark; how many times it was written, if this call wrote it.
    package func replace(
        _ change: (StoredMark?) -> DatabaseMark?
    ) async throws(GatewayError) -> (mark: DatabaseMark?, generation: Int?) {
        for _ in 0..<5 {
            let found = try await read()
            let old = Self.mark(found)
            guard let mark = change(old) else { return (old?.mark, nil) }
            let generation: Int?
            do throws(GatewayError) {
                trust.noteSending(.write)
                let revision = try await gateway.saveLocalDocument(
                    documentName, body: mark.json, revision: found?.revision)
                trust.noteAnswer(.write)
                generation = LocalDocument(revision: revision, body: []).writes
            } catch {
                guard error.code == .conflict else { throw error }
                continue
            }
            try await confirm(mark, generation: generation, isFirst: old == nil)
            return (mark, generation)
        }
        throw GatewayError(
            .conflict,
            "\(gateway.url): _local/\(documentName) changes all the time; does another bot have this name?")
    }

    /// Returns if the error of a request for the mark means that this user may not use local documents.
    ///
    /// A proxy that answers instead of the gateway can also send malformed answers. Then another request fails in the
    /// same way.
    ///
    /// It also returns if only requests for the mark fail with 500 or more, again and again.
    ///
    /// - Throws: `error` if it means something else; the error of that other request.
    package func requireRefusal(_ error: GatewayError) async throws(GatewayError) {
        if error.isServerFailure, trust.noteFailure() {
            guard try await gateway.databaseInfo().isOnline else { throw error }
            return trust.warn("the gateway fails only for _local/\(documentName): \(error)")
        }
        guard Self.isRefusal(error) else { throw error }
        if error.code == .malformedAnswer { _ = try await gateway.databaseInfo() }
    }

    /// Whether an error means that this user may not use local documents. A missing database or a refused password does
    /// not count: these may be temporary, and the feed handles them.
    static func isRefusal(_ error: GatewayError) -> Bool {
        switch error.code {
        case .forbidden, .notOffered, .malformedAnswer: true
        case .cancelled, .unauthorized, .notFound: false
        default: !error.isRetryable
        }
    }
}

extension GatewayError {
    /// Whether the server, or a proxy, has answered that it failed.
    fileprivate var isServerFailure: Bool { code == .serverError || code == .unavailable && status ?? 0 >= 500 }
}

/// A mark as it is stored in the database.
package struct StoredMark: Sendable, Equatable {
    package let mark: DatabaseMark
    /// How many times it was written. Only a restored database lowers this number.
    package let generation: Int

    package init(mark: DatabaseMark, generation: Int) {
        (self.mark, self.generation) = (mark, generation)
    }
}

/// The content of `_local/changebot.NAME`: identifies the database, and holds a copy of the checkpoint in case the
/// state directory is lost.
package struct DatabaseMark: Sendable, Equatable {
    /// A random nonce, generated once per database. If it is missing or different, the database was reset or restored.
    package let identity: String
    /// Nil if none was saved yet.
    package var checkpoint: SequenceID?
    /// The hash of the rules in force at the checkpoint.
    package var ruleSetHash = ""
    /// The channels that were read up to it; nil for all.
    package var channels: [String]?
    /// RFC 3339.
    package var savedAt = ""
    /// In a fleet, identifies the write that made it. Otherwise empty.
    var write = ""

    init(identity: String) { self.identity = identity }

    /// A mark for a database that has none.
    package static func new() -> DatabaseMark {
        func randomHalf() -> String {
            let digits = String(SystemRandom.number(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        return DatabaseMark(identity: randomHalf() + randomHalf())
    }

    /// With a copy of this checkpoint; nil if there is none.
    ///
    /// - Parameter channels: The channels that were read up to it; nil for all.
    package func copying(
        _ checkpoint: (sequence: SequenceID, ruleSetHash: String)?, channels: [String]?, savedAt: String
    ) -> DatabaseMark {
        var mark = self
        mark.checkpoint = checkpoint.flatMap { Self.sequence(SmallJSON($0.sequence.json)) }
        mark.ruleSetHash = checkpoint?.ruleSetHash ?? ""
        mark.channels = channels
        mark.savedAt = savedAt
        return mark
    }

    /// Whether it has a copy of this checkpoint, regardless of when it was saved.
    func isCopy(of checkpoint: (sequence: SequenceID, ruleSetHash: String)?, channels: [String]?) -> Bool {
        self == copying(checkpoint, channels: channels, savedAt: savedAt)
    }

    /// Nil if `body` is not such a document.
    init?(_ body: [UInt8]) {
        guard let document = SmallJSON(body), let identity = document["identity"]?.string, !identity.isEmpty else {
            return nil
        }
        self.identity = identity
        checkpoint = Self.sequence(document["checkpoint"])
        ruleSetHash = document["rule_set"]?.string ?? ""
        channels = document["channels"]?.elements?.compactMap(\.string)
        savedAt = document["saved_at"]?.string ?? ""
        write = document["write"]?.string ?? ""
    }

    /// The sequence as a gateway returns it: CouchDB writes JSON without white space and needless escapes. Nil for
    /// another value.
    private static func sequence(_ value: SmallJSON?) -> SequenceID? {
        value.flatMap(canonicalJSON).flatMap { SequenceID($0) }
    }

    private static func canonicalJSON(_ value: SmallJSON) -> String? {
        switch value {
        case .number(let text): return text
        case .string(let text):
            var json: [UInt8] = []
            json.appendJSONString(text.utf8)
            return String(decoding: json, as: UTF8.self)
        // BigCouch: a number and a string.
        case .array(let elements):
            let texts = elements.compactMap(canonicalJSON)
            return texts.count == elements.count ? "[\(texts.joined(separator: ","))]" : nil
        default: return nil
        }
    }

    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("identity", string: identity)
            writer.member("checkpoint", raw: checkpoint?.json ?? Array("null".utf8))
            writer.member("rule_set", string: ruleSetHash)
            if let channels {
                writer.name("channels")
                writer.array { writer in
                    for channel in channels { writer.string(channel) }
                }
            }
            writer.member("saved_at", string: savedAt)
            if !write.isEmpty { writer.member("write", string: write) }
        }
        return writer.bytes
    }
}
