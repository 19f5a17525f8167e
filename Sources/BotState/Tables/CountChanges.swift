package import GatewayClient
internal import LosslessJSON
package import Rules

/// The contributions of a document to totals.
package struct ContributedAmounts: Sendable {
    /// By the number of the rule.
    package let contributions: [Int: Contribution]
    /// The rules that led to the document.
    package var chain: RuleChain

    package init(contributions: [Int: Contribution], chain: RuleChain = RuleChain()) {
        (self.contributions, self.chain) = (contributions, chain)
    }
}

/// The changes of counts that result from settled decisions, saved in one transaction.
///
/// Saving the same changes again has no effect, because their difference to the stored contributions is zero.
package struct CountChanges: Sendable {
    /// A document and all its current contributions to totals.
    package struct Document: Sendable {
        let id: DocumentID
        /// By the number of the rule; missing contributions are removed.
        let contributions: [Int: Contribution]
        /// The rules that led to the document.
        let chain: RuleChain

        package init(_ id: DocumentID, _ contributed: ContributedAmounts) {
            self.id = id
            contributions = contributed.contributions
            chain = contributed.chain
        }
    }

    /// Decided documents.
    package var documents: [Document] = []
    /// Dead-lettered documents: their contributions are computed later from their stored content.
    package var undecided: [DocumentID] = []
    /// Recounted documents: the ledger's `recount` entries up to this number are settled.
    package var recounted: [(id: DocumentID, number: Int)] = []
    /// The numbers of the rules that are counted, and their names.
    var rules: [Int: String]
    /// Whether other processes count, too, perhaps for other rules. Documents are counted again by a process that has
    /// these rules.
    let isShared: Bool

    package init(rules: [Int: String], isShared: Bool) { (self.rules, self.isShared) = (rules, isShared) }

    var isEmpty: Bool { documents.isEmpty && undecided.isEmpty && recounted.isEmpty }
}

/// The change of a total in one transaction.
private struct TotalChange {
    var amounts: [DecimalAmount]
    var contributors = 0
    /// The other members of a document that does not exist yet.
    var document = ""
    /// The chain of rules that led to it.
    var chain: RuleChain?

    mutating func add(_ contribution: Contribution, _ chain: RuleChain) {
        amounts = zip(amounts, contribution.amounts).map { $0 + $1 }
        contributors += 1
        document = String(decoding: contribution.document.bytes, as: UTF8.self)
        note(chain)
    }

    mutating func subtract(_ taken: [DecimalAmount], _ chain: RuleChain) {
        amounts = zip(amounts, taken).map { $0 - $1 }
        contributors -= 1
        note(chain)
    }

    private mutating func note(_ chain: RuleChain) {
        self.chain = .shortest(of: [self.chain, chain].compactMap { $0 })
    }
}

extension CountChanges {
    private struct Place: Hashable {
        let target: String
        let rule: Int
    }

    /// - Returns: Whether a total has changed and must be written.
    func record(in database: any StateSession) throws -> Bool {
        guard isShared else { return try recordAll(in: database) }
        try database.lockCounts()
        let counted = Set(try database.values(Int.self, "SELECT number FROM aggregate_rule"))
        guard !counted.isEmpty else { return false }
        var own = self
        own.rules = rules.filter { counted.contains($0.key) }
        if own.rules.count < counted.count { own.undecided += documents.map(\.id) }
        if own.rules.isEmpty { own.documents = [] }
        return try own.recordAll(in: database)
    }

    private func recordAll(in database: any StateSession) throws -> Bool {
        var changes: [Place: TotalChange] = [:]
        var order: [Place] = []
        func change(_ place: Place, count: Int, _ body: (inout TotalChange) -> Void) {
            if changes[place] == nil { order.append(place) }
            body(&changes[place, default: TotalChange(amounts: Array(repeating: .zero, count: count))])
        }
        try recordContributions(in: database, change)
        try database.executeEach(
            "DELETE FROM recount WHERE id = ? AND number <= ?", recounted.map { [TextAsBytes($0.id.text), $0.number] })
        try database.executeEach("INSERT INTO recount (id) VALUES (?)", undecided.map { [TextAsBytes($0.text)] })
        return try Self.apply(order.compactMap { place in changes[place].map { (place, $0) } }, database)
    }

    private typealias Known = (target: String, amounts: String)

    private func recordContributions(
        in database: any StateSession, _ change: (Place, Int, (inout TotalChange) -> Void) -> Void
    ) throws {
        let keys = documents.map { OwnWrite.key($0.id.text) }
        var known = try Self.contributions(of: keys, database)
        var added: [[(any StateArgument)?]] = []
        var removed: [[(any StateArgument)?]] = []
        for (key, document) in zip(keys, documents) {
            for (rule, name) in rules {
                let (old, new) = (known[key]?[rule], document.contributions[rule])
                let amounts = new.map { Amounts.text($0.amounts) }
                if old == nil, new == nil { continue }
                if let old, let new, old.target == new.target, old.amounts == amounts { continue }
                let chain = document.chain.followed(by: name)
                if let old {
                    let taken = Amounts.parse(old.amounts)
                    change(Place(target: old.target, rule: rule), taken.count) { $0.subtract(taken, chain) }
                }
                if let new, let amounts {
                    change(Place(target: new.target, rule: rule), new.amounts.count) { $0.add(new, chain) }
                    known[key]?[rule] = (new.target, amounts)
                    added.append([key, rule, new.target, amounts])
                } else {
                    known[key]?[rule] = nil
                    removed.append([key, rule])
                }
            }
        }
        try database.executeEach("DELETE FROM contribution WHERE id = ? AND rule = ?", removed)
        try database.executeEach(
            database.dialect.replace(
                into: "contribution", ["id", "rule", "target", "amounts"], key: ["id", "rule"]), added)
    }

    /// What documents add to totals so far, by rule.
    private static func contributions(
        of keys: [String], _ database: any StateSession
    ) throws -> [String: [Int: Known]] {
        let rows = try database.rowsForEach(
            "SELECT rule, target, amounts FROM contribution WHERE id = ?", keys.map { [$0] })
        var known: [String: [Int: Known]] = [:]
        for (key, rows) in zip(keys, rows) {
            known[key] = Dictionary(rows.map { ($0[0], ($0[1], $0[2])) }) { first, _ in first }
        }
        return known
    }

    /// - Returns: Whether a document with totals must be written.
    private static func apply(
        _ changes: [(place: Place, change: TotalChange)], _ database: any StateSession
    ) throws -> Bool {
        let rows = try database.rowsForEach(
            "SELECT amounts, contributors, document FROM total WHERE target = ? AND rule = ?",
            changes.map { [$0.place.target, $0.place.rule] })
        var totals: [[(any StateArgument)?]] = []
        var marks: [(target: String, chain: RuleChain)] = []
        for ((place, change), rows) in zip(changes, rows) {
            let row = rows.first
            let before: Int = row?[1] ?? 0
            let contributors = before + change.contributors
            // The first contribution to a total creates the document with the total, even if it is zero.
            let isChanged = change.amounts.contains { $0 != .zero } || before == 0 && contributors > 0
            // A contribution that is added and removed before the total was written leaves nothing.
            guard isChanged || change.contributors != 0 else { continue }
            var amounts = change.amounts
            var document = change.document
            if let row {
                amounts = zip(Amounts.parse(row[0]), amounts).map { $0 + $1 }
                // It also determines the other members of that document.
                if before > 0 || document.isEmpty { document = row[2] }
            }
            totals.append([place.target, place.rule, Amounts.text(amounts), contributors, document])
            if isChanged { marks.append((place.target, change.chain ?? RuleChain())) }
        }
        try database.executeEach(
            database.dialect.replace(
                into: "total", ["target", "rule", "amounts", "contributors", "document"], key: ["target", "rule"]),
            totals)
        try mark(marks, database)
        return !marks.isEmpty
    }

    /// Marks the documents with these ids as unwritten.
    static func mark(_ targets: [String], _ chain: RuleChain, _ database: any StateSession) throws {
        try mark(targets.map { ($0, chain) }, database)
    }

    private static func mark(_ targets: [(target: String, chain: RuleChain)], _ database: any StateSession) throws {
        // Several rules may count into the same document.
        let chains = Dictionary(grouping: targets, by: \.target).mapValues { $0.map(\.chain) }
        let marks = chains.sorted { $0.key < $1.key }
        let waiting = try database.rowsForEach(
            "SELECT chain FROM total_to_write WHERE target = ?", marks.map { [$0.key] })
        try database.executeEach(
            """
            INSERT INTO total_to_write (target, version, chain, chain_length) VALUES (?, 1, ?, ?)
            ON CONFLICT (target) DO UPDATE SET version = total_to_write.version + 1, has_failed = 0,
                chain = excluded.chain, chain_length = excluded.chain_length
            """,
            zip(marks, waiting).map { mark, waiting in
                let earlier = waiting.map { RuleChain(json: Array(($0[0] as TextAsBytes).text.utf8)) }
                // An empty chain has no information about causes.
                let chain = RuleChain.shortest(of: (mark.value + earlier).filter { $0 != RuleChain() })
                return [mark.key, TextAsBytes(String(decoding: chain.json, as: UTF8.self)), chain.rules.count]
            })
    }
}

/// Amounts in the ledger: numbers separated by commas.
enum Amounts {
    static func text(_ amounts: [DecimalAmount]) -> String { amounts.map(\.description).joined(separator: ",") }

    static func parse(_ text: String) -> [DecimalAmount] {
        text.split(separator: ",").map { DecimalAmount(total: $0) ?? .zero }
    }
}
