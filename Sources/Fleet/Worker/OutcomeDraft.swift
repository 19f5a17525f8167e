/// What the next commit of a partition stores.
struct OutcomeDraft {
    private(set) var outcome: PartitionOutcome
    /// Documents whose parked change it stores, changes or removes.
    private var parked: Set<DocumentKey> = []
    private var unparked: Set<DocumentKey> = []

    init(position: Int64) { outcome = PartitionOutcome(position: position) }

    /// Whether it stores anything besides this position.
    func hasMore(than position: Int64) -> Bool {
        outcome.position > position || !outcome.unparked.isEmpty || !outcome.dead.isEmpty || !outcome.parked.isEmpty
            || !outcome.joined.isEmpty
    }

    /// Whether the document has a parked change once this is stored.
    func isParked(_ id: DocumentKey, inLog: Bool) -> Bool {
        inLog && !unparked.contains(id) || parked.contains(id)
    }

    /// Whether it changes the document's parked change.
    func touchesParked(_ id: DocumentKey) -> Bool { parked.contains(id) || unparked.contains(id) }

    mutating func move(to position: Int64) { outcome.position = position }

    mutating func addDead(_ change: LoggedChange, _ reason: String) {
        outcome.dead.append(DeadChange(change, reason: reason))
    }

    mutating func park(_ change: LoggedChange, _ delay: Duration, _ reason: String) {
        outcome.parked.append(ParkedChange(change, delay: delay, reason: reason))
        parked.insert(change.id)
    }

    mutating func join(_ change: LoggedChange) {
        outcome.joined.append(change)
        parked.insert(change.id)
    }

    mutating func unpark(_ id: DocumentKey) {
        outcome.unparked.append(id)
        unparked.insert(id)
    }
}
