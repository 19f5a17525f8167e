internal import LosslessJSON

/// A row of the JSON form of `_bulk_get`: `{"id","docs":[{"ok":{…}},{"error":{…}}]}`.
struct BulkGetRow: RowFields {
    static let rowsName: StaticString = "results"
    static let keptName: StaticString? = nil

    let start: Int32
    let end: Int32
    private(set) var documents: Int32 = -1
    private(set) var isMalformed = false

    init(start: Int32, end: Int32) {
        self.start = start
        self.end = end
    }

    var isComplete: Bool { documents >= 0 || isMalformed }

    mutating func markMalformed() { isMalformed = true }

    mutating func note(_ name: Int, _ value: Int, on tape: JSONTape, in bytes: [UInt8]) {
        if tape.isString(name, "docs", in: bytes), tape.kind(of: value) == .array { documents = Int32(value) }
    }
}

extension GatheredRows<BulkGetRow> {
    /// Revisions and refusals in the order of the answer.
    func items() throws(JSONFault) -> [BulkGetItem] {
        var items: [BulkGetItem] = []
        for row in rows {
            if let damage = damage(of: row) { throw damage.fault }
            for document in value(row.documents)?.elements.map({ $0 }) ?? [] {
                if let body = document["ok"], body.kind == .object, let text = body.copied() {
                    items.append(.revision(text))
                } else if let refusal = document["error"] {
                    items.append(.unavailable(BulkGetRefusal(refusal)))
                }
            }
        }
        return items
    }
}
