/// The events about revisions that have arrived somewhere: their ids, and their order.
struct EventRecords {
    /// The id of each event, by its name.
    private var ids: [String: String] = [:]
    private var arrived: Set<String> = []
    /// False once the gateway has lost marks: ids depend on them.
    var comparesIDs = true
    /// The revision of the newest event of each document, and the process that sent it.
    private var newest: [String: (revision: String, process: Int)] = [:]

    /// The database was replaced: its events are sent again with other ids.
    mutating func noteReset() { (ids, newest) = ([:], [:]) }

    /// - Parameters:
    ///   - event: Its id.
    ///   - isAccepted: Whether it has arrived, and is not sent again.
    /// - Returns: What is wrong with it; nil: nothing.
    mutating func note(
        _ event: String, about revision: StoredRevision, of document: StoredDocument, from process: Int,
        isAccepted: Bool
    ) -> String? {
        let name = Scenario.nameOfEvent(document.id, revision)
        let known = ids[name] ?? event
        guard known == event || !comparesIDs || Scenario.isEdge(revision) else {
            return "the event about \(document.id) \(revision.id.short) was \(known), and is \(event) now"
        }
        ids[name] = event
        if let later = laterEvent(than: revision, of: document, from: process) {
            return "the event about \(document.id) \(revision.id.short) came after that about \(later.short)"
        }
        guard isAccepted else { return nil }
        arrived.insert(name)
        newest[document.id] = (revision.id, process)
        return nil
    }

    /// Events of one document arrive in order, as long as one process sends them.
    private func laterEvent(than revision: StoredRevision, of document: StoredDocument, from process: Int) -> String? {
        guard let newest = newest[document.id], newest.process == process, newest.revision != revision.id else {
            return nil
        }
        var ancestor = document.revision(newest.revision)
        while let next = ancestor?.parent.flatMap(document.revision) {
            if next.id == revision.id { return newest.revision }
            ancestor = next
        }
        return nil
    }

    func hasArrived(_ document: StoredDocument, _ revision: StoredRevision) -> Bool {
        arrived.contains(Scenario.nameOfEvent(document.id, revision))
    }
}
