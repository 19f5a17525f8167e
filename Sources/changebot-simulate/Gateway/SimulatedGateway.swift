internal import GatewayClient
internal import LosslessJSON
internal import TestKit

/// One database of a gateway, in memory: Sync Gateway's or CouchDB's answers to the requests of a bot.
///
/// It has no users.
///
/// - Note: Source: the recorded answers of Sync Gateway 4.1.1 and CouchDB 3.5.0.
final class SimulatedGateway {
    let positions: FeedPositions
    var dialect: GatewayDialect { positions.dialect }
    let scheduler: Scheduler
    /// What the clock shows, in seconds since 1970.
    var wallSeconds: Int { scheduler.wallSeconds }
    private var numbers: SplitMix64

    /// What is stored in the database.
    struct Content {
        fileprivate(set) var documents: [String: StoredDocument] = [:]
        /// The ids of documents, in the order of their creation.
        fileprivate(set) var ids: [String] = []
        /// `_local` documents, with the number of their writes.
        var localDocuments: [String: (writes: Int, body: [UInt8])] = [:]
        /// The newest sequence of each shard.
        fileprivate(set) var newest: [Int]

        init(shards: Int) { newest = [Int](repeating: 0, count: shards) }

        /// Its next sequences follow those of another database.
        mutating func raise(to other: Content) { newest = other.newest }
    }

    var content: Content
    var documents: [String: StoredDocument] { content.documents }
    var ids: [String] { content.ids }
    /// How often the database was replaced.
    private(set) var replacements = 0
    var startTime = 1_795_000_000
    /// What the feed shows.
    private var shown: ShownChanges
    /// Of a hundred writes, how many are skipped.
    var skipShare = 0
    /// Whether its validation or sync function refuses a write of a bot.
    var refuses: (String, DocumentBody) -> Bool = { _, _ in false }
    /// Of a hundred requests with writes, in how many some documents can't be written.
    var failingShare = 0
    /// The largest request with several writes, in bytes; nil: no limit.
    var requestLimit: Int?
    /// Whether `_local` documents are not kept.
    var losesMarks = false
    private var longpolls = Longpolls()
    /// Called with what happens to it.
    var observer = GatewayObserver()
    /// For ``Breakage``.
    var errors = GatewayErrors()

    init(_ dialect: GatewayDialect, _ scheduler: Scheduler, seed: UInt64) {
        positions = FeedPositions(dialect: dialect)
        self.scheduler = scheduler
        numbers = SplitMix64(seed: seed)
        content = Content(shards: positions.shardCount)
        shown = ShownChanges(content.newest)
    }

    /// The newest sequence of each shard that the feed shows.
    var visible: [Int] { shown.visible }
    var skipped: Set<Int> { shown.skipped }

    // MARK: - Writing

    enum WriteResult {
        case written(String)
        case conflict
        case refused
        /// A stub for an attachment that the replaced revision does not have.
        case unknownStub
    }

    /// - Parameters:
    ///   - attachments: By name.
    ///   - revision: The one to replace; nil for none.
    func write(
        _ id: String, _ body: DocumentBody, _ attachments: [String: WrittenAttachment] = [:], isDeleted: Bool = false,
        replacing revision: String?,
        by author: StoredRevision.Author
    ) -> WriteResult {
        let document = documents[id] ?? StoredDocument(id: id)
        let parent: StoredRevision?
        let given = errors.ignoresRevisions && author != .user ? document.winner?.id : revision
        switch document.parent(ofWriteWith: given) {
        case nil: return .conflict
        case StoredDocument.Parent.none?: parent = nil
        case .revision(let found)?: parent = found
        }
        let kept = errors.losesStubs && author != .user ? attachments.filter { !$0.value.isStub } : attachments
        guard
            let stored = [StoredAttachment](
                kept, after: parent?.attachments ?? [], generation: (parent?.generation ?? 0) + 1, dialect)
        else { return .unknownStub }
        let new = self.revision(of: id, body, stored, isDeleted: isDeleted, after: parent, by: author)
        if author != .user, refuses(id, body) { return .refused }
        if errors.losesWrite(id, author) { return .written(new.id) }
        store(new, document, parent)
        return .written(new.id)
    }

    /// Stores a revision with its id, as replication does. Does nothing if it is known.
    ///
    /// - Parameter ancestors: Itself and those before it, the newest first.
    /// - Returns: False if the revision before it lacks the attachment of a stub.
    func replicate(
        _ id: String, _ body: DocumentBody, _ attachments: [String: WrittenAttachment] = [:], _ revision: String,
        _ ancestors: [String], isDeleted: Bool, by author: StoredRevision.Author
    ) -> Bool {
        let document = documents[id] ?? StoredDocument(id: id)
        guard document.revision(revision) == nil, !errors.losesReplicated else { return true }
        var parent = ancestors.dropFirst().lazy.compactMap(document.revision).first
        if errors.deletesWinner { parent = document.winner }
        let generation = Int(revision.prefix { $0 != "-" }) ?? 1
        guard
            let stored = [StoredAttachment](
                attachments, after: parent?.attachments ?? [], generation: generation, dialect)
        else { return false }
        let isForgotten = errors.losesMerged && !isDeleted
        let new = StoredRevision(
            id: revision, generation: generation, parent: parent?.id, body: isForgotten ? parent?.body ?? body : body,
            attachments: stored, isDeleted: isDeleted, author: author, isReplicated: true)
        store(new, document, parent)
        return true
    }

    /// Adds a revision next to the winner, as replication from another device does.
    func addConflict(_ id: String, _ body: DocumentBody) {
        guard let document = documents[id], let winner = document.winner else { return }
        let parent = winner.parent.flatMap(document.revision)
        let new = revision(of: id, body, [], isDeleted: false, after: parent, by: .user)
        guard document.revision(new.id) == nil else { return }
        store(new, document, parent)
    }

    private func revision(
        of id: String, _ body: DocumentBody, _ attachments: [StoredAttachment], isDeleted: Bool,
        after parent: StoredRevision?,
        by author: StoredRevision.Author
    ) -> StoredRevision {
        var digest: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in Array("\(parent?.id ?? "") \(isDeleted) \(attachments.member)".utf8) + body.bytes {
            digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        let text = String(digest, radix: 16)
        let generation = (parent?.generation ?? 0) + 1
        return StoredRevision(
            id: "\(generation)-\(String(repeating: "0", count: 32 - text.count))\(text)", generation: generation,
            parent: parent?.id, body: body, attachments: attachments, isDeleted: isDeleted, author: author)
    }

    private func store(_ revision: StoredRevision, _ document: StoredDocument, _ parent: StoredRevision?) {
        var document = document
        if document.revisions.isEmpty { content.ids.append(document.id) }
        document.append(revision)
        let shard = positions.shard(of: document.id)
        // Sync Gateway reserves sequences that it then does not use.
        content.newest[shard] += dialect == .syncGateway && numbers.chance(10) ? 1 + numbers.below(5) : 1
        document.sequence = content.newest[shard]
        content.documents[document.id] = document
        observer.noteWrite(document, revision, parent)
        show(document.sequence, shard)
    }

    /// The feed shows a change after a moment, and after all earlier ones. Sync Gateway passes a change that takes too
    /// long, and shows it later.
    private func show(_ sequence: Int, _ shard: Int) {
        let delay: Duration = dialect.feedLagsBehindWrites ? .microseconds(numbers.below(20_000)) : .zero
        let number = replacements
        if dialect == .syncGateway, skipShare > 0, numbers.below(100) < skipShare {
            shown.skipped.insert(sequence)
            observer.noteSkip(sequence)
            scheduler.after(.milliseconds(500 + numbers.below(40_000))) { [self] in
                if number == replacements, shown.skipped.remove(sequence) != nil { wakeAll() }
            }
        }
        scheduler.after(delay) { [self] in
            guard number == replacements else { return }
            shown.arrived[shard].insert(sequence)
            let missing = documents.values.map(\.sequence).filter {
                $0 > visible[shard] && !shown.arrived[shard].contains($0)
            }
            let reached =
                missing.min().map { first in shown.arrived[shard].filter { $0 < first }.max() } ?? content.newest[shard]
            guard let reached, reached > visible[shard] else { return }
            shown.history.append((scheduler.uptime, visible))
            if shown.history.count > 200 { shown.history.removeFirst(100) }
            shown.visible[shard] = reached
            shown.arrived[shard] = shown.arrived[shard].filter { $0 > reached }
            wakeAll()
        }
    }

    private func wakeAll() { for wake in longpolls.removeAll() { wake() } }

    /// All skipped changes have arrived.
    func showSkipped() {
        guard !shown.skipped.isEmpty else { return }
        shown.skipped = []
        wakeAll()
    }

    /// What the feed of a node shows that sees writes late.
    func visible(before lag: Duration) -> [Int] {
        let time = scheduler.uptime - lag.nanoseconds
        return shown.history.first { $0.time > time }?.visible ?? visible
    }

    func replaceContent(by new: Content) {
        replacements += 1
        content = new
        shown = ShownChanges(new.newest)
        _ = longpolls.removeAll()
    }

    /// - Returns: How many revisions have lost their bodies.
    func compact(_ id: String) -> Int { content.documents[id]?.compact(losingLeavesToo: errors.forgetsLeaves) ?? 0 }

    // MARK: - The feed

    /// The changes after a position, in an order in which the gateway could send them, and the position that each one
    /// reaches.
    ///
    /// - Parameter lag: How late the node sees writes.
    func changes(
        after start: [Int], lag: Duration = .zero
    ) -> (rows: [(document: StoredDocument, reached: [Int])], end: [Int]) {
        let visible = lag == .zero ? visible : visible(before: lag)
        var queues = (0..<positions.shardCount).map { shard in
            ids.compactMap { documents[$0] }
                .filter {
                    positions.shard(of: $0.id) == shard && $0.sequence > start[shard] && $0.sequence <= visible[shard]
                        && !shown.skipped.contains($0.sequence)
                }
                .sorted { $0.sequence > $1.sequence }
        }
        var position = start
        var rows: [(document: StoredDocument, reached: [Int])] = []
        while case let shards = queues.indices.filter({ !queues[$0].isEmpty }), !shards.isEmpty {
            let shard = numbers.pick(shards)
            let document = queues[shard].removeLast()
            position[shard] = document.sequence
            rows.append((document, position))
        }
        return (rows, zip(start, errors.hidesLag ? self.visible : visible).map { max($0, $1) })
    }

    func sequence(_ position: [Int]) -> String {
        positions.json(
            position, lowest: errors.forgetsSkipped ? nil : shown.skipped.min().map { $0 - 1 }, salt: numbers.next())
    }

    /// Calls `wake` when the feed shows another change, and after `timeout` at the latest.
    func wait(_ timeout: Duration, _ wake: @escaping () -> Void) {
        let number = longpolls.add(wake)
        scheduler.after(timeout) { [self] in longpolls.remove(number)?() }
    }

    /// Whether the feed, read up to `position`, has shown the newest change of a document.
    func hasPassed(_ document: StoredDocument, _ position: [Int]) -> Bool {
        document.sequence <= position[positions.shard(of: document.id)]
    }
}
