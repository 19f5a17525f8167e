internal import GRDB
internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// What settled decisions change of counts, to be saved in one transaction.
///
/// Saving the same again changes nothing: the difference to what is remembered is zero.
struct CountChanges: Sendable {
    /// A document and all that it adds to totals now.
    struct Document: Sendable {
        let id: DocumentID
        /// By the number of the rule; what is missing is taken back.
        let contributions: [Int: Contribution]
        /// The rules that led to the document.
        let chain: RuleChain
    }

    /// Decided documents.
    var documents: [Document] = []
    /// Dead-lettered documents: what they add is found out later, from their content as it is stored.
    var undecided: [DocumentID] = []
    /// Documents that were to be counted again: the entries of the ledger up to this number are done.
    var recounted: [(id: DocumentID, number: Int)] = []
    /// The numbers of the rules that are counted, and their names.
    let rules: [Int: String]

    var isEmpty: Bool { documents.isEmpty && undecided.isEmpty && recounted.isEmpty }
}

/// The difference that a transaction makes to a total.
private struct TotalChange {
    var amounts: [DecimalAmount]
    var contributors = 0
    /// The other members of a document that does not exist yet.
    var document = ""
    /// The longest chain of rules that led to it.
    var chain = RuleChain()

    mutating func add(_ other: [DecimalAmount]) {
        amounts = zip(amounts, other).map { $0 + $1 }
        contributors += 1
    }

    mutating func takeBack(_ other: [DecimalAmount]) {
        amounts = zip(amounts, other).map { $0 - $1 }
        contributors -= 1
    }

    mutating func note(_ chain: RuleChain) {
        if chain.rules.count > self.chain.rules.count { self.chain = chain }
    }
}

extension CountChanges {
    private struct Place: Hashable {
        let target: String
        let rule: Int
    }

    /// - Returns: Whether a total has changed, so that there is something to write.
    func record(in database: Database) throws -> Bool {
        var changes: [Place: TotalChange] = [:]
        var order: [Place] = []
        func change(_ place: Place, count: Int, _ body: (inout TotalChange) -> Void) {
            if changes[place] == nil { order.append(place) }
            body(&changes[place, default: TotalChange(amounts: Array(repeating: .zero, count: count))])
        }
        for document in documents { try record(document, in: database, change) }
        for (id, number) in recounted {
            try database.cachedStatement(sql: "DELETE FROM recount WHERE id = ? AND number <= ?")
                .execute(arguments: [WholeText(id.text), number])
        }
        for id in undecided {
            try database.cachedStatement(sql: "INSERT INTO recount (id) VALUES (?)")
                .execute(arguments: [WholeText(id.text)])
        }
        var isChanged = false
        for place in order {
            guard let change = changes[place] else { continue }
            if try Self.apply(change, to: place, database) { isChanged = true }
        }
        return isChanged
    }

    private func record(
        _ document: Document, in database: Database,
        _ change: (Place, Int, (inout TotalChange) -> Void) -> Void
    ) throws {
        let key = OwnWrite.key(document.id.text)
        let select = try database.cachedStatement(sql: "SELECT rule, target, amounts FROM contribution WHERE id = ?")
        var before: [Int: (target: String, amounts: String)] = [:]
        for row in try Row.fetchAll(select, arguments: [key]) { before[row[0]] = (row[1], row[2]) }
        for (rule, name) in rules {
            let (old, new) = (before[rule], document.contributions[rule])
            let amounts = new.map { Amounts.text($0.amounts) }
            if old == nil, new == nil { continue }
            if let old, let new, old.target == new.target, old.amounts == amounts { continue }
            let chain = document.chain.followed(by: name)
            if let old {
                let taken = Amounts.parse(old.amounts)
                change(Place(target: old.target, rule: rule), taken.count) { change in
                    change.takeBack(taken)
                    change.note(chain)
                }
            }
            if let new, let amounts {
                change(Place(target: new.target, rule: rule), new.amounts.count) { change in
                    change.add(new.amounts)
                    change.document = String(decoding: new.document.bytes, as: UTF8.self)
                    change.note(chain)
                }
                try database.cachedStatement(
                    sql: "INSERT OR REPLACE INTO contribution (id, rule, target, amounts) VALUES (?, ?, ?, ?)"
                ).execute(arguments: [key, rule, new.target, amounts])
            } else {
                try database.cachedStatement(sql: "DELETE FROM contribution WHERE id = ? AND rule = ?")
                    .execute(arguments: [key, rule])
            }
        }
    }

    /// - Returns: Whether the document with the total must be written.
    private static func apply(_ change: TotalChange, to place: Place, _ database: Database) throws -> Bool {
        let select = try database.cachedStatement(
            sql: "SELECT amounts, contributors, document FROM total WHERE target = ? AND rule = ?")
        let row = try Row.fetchOne(select, arguments: [place.target, place.rule])
        let before: Int = row?[1] ?? 0
        let contributors = before + change.contributors
        // The first document that adds to a total makes the document with the total, even if it adds zero.
        let isChanged = change.amounts.contains { $0 != .zero } || before == 0 && contributors > 0
        // One that comes and goes before the total was written leaves nothing.
        guard isChanged || change.contributors != 0 else { return false }
        var amounts = change.amounts
        var document = change.document
        if let row {
            amounts = zip(Amounts.parse(row[0]), amounts).map { $0 + $1 }
            // It also says what else is in that document.
            if before > 0 || document.isEmpty { document = row[2] }
        }
        try database.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO total (target, rule, amounts, contributors, document) VALUES (?, ?, ?, ?, ?)
                """
        ).execute(arguments: [place.target, place.rule, Amounts.text(amounts), contributors, document])
        if isChanged { try mark(place.target, change.chain, database) }
        return isChanged
    }

    /// The document with this id must be written.
    static func mark(_ target: String, _ chain: RuleChain, _ database: Database) throws {
        try database.cachedStatement(
            sql: """
                INSERT INTO total_to_write (target, version, chain, chain_length) VALUES (?, 1, ?, ?)
                ON CONFLICT (target) DO UPDATE SET version = version + 1, has_failed = 0,
                    chain = IIF(excluded.chain_length > chain_length, excluded.chain, chain),
                    chain_length = MAX(excluded.chain_length, chain_length)
                """
        ).execute(
            arguments: [target, WholeText(String(decoding: chain.json, as: UTF8.self)), chain.rules.count])
    }
}

/// Amounts in the ledger: numbers with commas between them.
enum Amounts {
    static func text(_ amounts: [DecimalAmount]) -> String { amounts.map(\.description).joined(separator: ",") }

    static func parse(_ text: String) -> [DecimalAmount] {
        text.split(separator: ",").map { DecimalAmount(total: $0) ?? .zero }
    }
}
