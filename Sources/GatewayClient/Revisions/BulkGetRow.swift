internal import LosslessJSON

/// A row of the JSON form of `_bulk_get`: `{"id","docs":[{"ok":{…}},{"error":{…}}]}`.
struct BulkGetRow: RowFields {
    static let rowsMemberName: StaticString = "results"
    static let keptMemberName: StaticString? = nil

    let start: Int32
    let end: Int32
    private(set) var id: Int32 = -1
    private(set) var documents: Int32 = -1
    private(set) var isMalformed = false

    init(start: Int32, end: Int32) {
        self.start = start
        self.end = end
    }

    var isComplete: Bool { id >= 0 || documents >= 0 || isMalformed }

    mutating func markMalformed() { isMalformed = true }

    mutating func note(_ name: Int, _ value: Int, on tape: JSONTape, in bytes: [UInt8]) {
        if tape.isString(name, "docs", in: bytes), tape.kind(of: value) == .array { documents = Int32(value) }
        if tape.isString(name, "id", in: bytes), tape.kind(of: value) == .string { id = Int32(value) }
    }
}

extension GatheredRows<BulkGetRow> {
    /// Revisions and refusals in the order of the answer.
    func items() -> [BulkGetItem] {
        var items: [BulkGetItem] = []
        for row in rows {
            let id = value(row.id)?.string.map { DocumentID($0) }
            if let damage = damage(of: row) {
                let reason = "it is not JSON: \(damage.error), at byte \(damage.error.offset) of its row"
                items.append(.malformed(BulkGetDamage(id: id ?? damage.id, reason: reason)))
                continue
            }
            if row.documents < 0 { items.append(.malformed(BulkGetDamage(id: id, reason: "its row has no revisions"))) }
            for document in value(row.documents)?.elements.map({ $0 }) ?? [] {
                if let body = document["ok"], body.kind == .object {
                    let damage = BulkGetDamage(id: id, reason: "it is nested more deeply than a document may be")
                    items.append(body.copied().map { .revision($0) } ?? .malformed(damage))
                } else if let refusal = document["error"] {
                    items.append(.unavailable(BulkGetRefusal(refusal)))
                }
            }
        }
        return items
    }
}
