internal import LosslessJSON

/// Checks the events that the simulated receiver gets.
struct EventCheck {
    /// The id of the event about a revision, by document and revision.
    private var ids: [String: String] = [:]
    private var accepted: Set<String> = []
    /// False once the gateway has lost marks: ids depend on them.
    var comparesIDs = true
    /// The revision of the newest accepted event of each document, and the process that sent it.
    private var newest: [String: (revision: String, process: Int)] = [:]

    /// The database was replaced: its events are sent again with other ids.
    mutating func noteReset() { (ids, newest) = ([:], [:]) }

    /// - Throws: ``Violation``.
    mutating func note(_ request: OutsideRequest, isAccepted: Bool, _ gateway: SimulatedGateway) throws {
        guard let root = (try? JSONText(request.body))?.root, let id = root["_id"]?.string,
            let event = request.headers["idempotency-key"], let document = gateway.documents[id],
            let revision = root["_rev"]?.string.flatMap(document.revision)
        else {
            // The bot has not noticed yet that the database was replaced.
            if gateway.replacements > 0 { return }
            throw violation("the receiver got an event of no revision: \(request.summary)")
        }
        guard Scenario.sendsEvent(about: revision) else {
            throw violation("no rule sends an event about \(id) \(revision.id.short) \(revision.body.text)")
        }
        // As it was when the action was reached: rules mark the document after that.
        guard DocumentBody(root) == revision.body else {
            throw violation(
                "the event about \(id) \(revision.id.short) \(revision.body.text) has \(DocumentBody(root).text)")
        }
        let name = Scenario.nameOfEvent(id, revision)
        let known = ids[name] ?? event
        guard known == event || !comparesIDs || Scenario.isEdge(revision) else {
            throw violation("the event about \(id) \(revision.id.short) was \(known), and is \(event) now")
        }
        ids[name] = event
        try checkOrder(document, revision, request.process)
        guard isAccepted else { return }
        accepted.insert(name)
        newest[id] = (revision.id, request.process)
    }

    /// Events of one document arrive in order, as long as one process sends them.
    private func checkOrder(_ document: StoredDocument, _ revision: StoredRevision, _ process: Int) throws {
        guard let newest = newest[document.id], newest.process == process, newest.revision != revision.id else {
            return
        }
        var ancestor = document.revision(newest.revision)
        while let next = ancestor?.parent.flatMap(document.revision) {
            if next.id == revision.id {
                throw violation(
                    "the event about \(document.id) \(revision.id.short) came after that about \(newest.revision.short)"
                )
            }
            ancestor = next
        }
    }

    /// The receiver has accepted the event before the document is marked.
    ///
    /// - Parameter parent: The revision that the bot replaces.
    /// - Throws: ``Violation``.
    func checkWrite(_ document: StoredDocument, replacing parent: StoredRevision?) throws {
        guard let parent, Scenario.sendsEvent(about: parent), !isAccepted(document, parent) else { return }
        throw Violation(
            guarantee: .order,
            detail: "\(document.id) \(parent.id.short) is marked, but the receiver has not accepted its event")
    }

    func isAccepted(_ document: StoredDocument, _ revision: StoredRevision) -> Bool {
        accepted.contains(Scenario.nameOfEvent(document.id, revision))
    }

    private func violation(_ detail: String) -> Violation { Violation(guarantee: .webhooks, detail: detail) }
}
