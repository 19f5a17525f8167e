internal import GatewayClient
internal import LosslessJSON

/// Checks the events that the simulated receiver gets.
struct EventCheck {
    private var records = EventRecords()
    /// Documents and revisions of which a process knows that it has written them.
    private var own: Set<String> = []
    /// When other rules were last taken up.
    private var rulesBegan: Int64 = 0

    /// A process has got the answer to its writes.
    ///
    /// - Parameter sent: When it sent them, in nanoseconds.
    mutating func noteWritten(_ written: [(id: String, revision: String)], sent: Int64) {
        guard sent > rulesBegan else { return }
        for (id, revision) in written { own.insert("\(id) \(revision)") }
    }

    /// Other rules are taken up. They may apply to own revisions.
    ///
    /// - Parameter uptime: The time, in nanoseconds.
    mutating func noteOtherRules(at uptime: Int64) { (own, rulesBegan) = ([], uptime) }

    /// The gateway has lost marks.
    mutating func noteLostMarks() { records.comparesIDs = false }

    mutating func noteReset() {
        records.noteReset()
        own = []
    }

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
        guard hasContent(DocumentBody(root), of: revision, gateway) else {
            throw violation(
                "the event about \(id) \(revision.id.short) \(revision.body.text) has \(DocumentBody(root).text)")
        }
        guard revision.author != .bot(request.process) || !own.contains("\(id) \(revision.id)") else {
            throw Violation(
                guarantee: .loops, detail: "a rule was applied to \(id) \(revision.id.short), which the bot has written"
            )
        }
        let fault = records.note(event, about: revision, of: document, from: request.process, isAccepted: isAccepted)
        if let fault { throw violation(fault) }
    }

    /// Sync Gateway sorts the members of a tombstone that is read.
    private func hasContent(_ body: DocumentBody, of revision: StoredRevision, _ gateway: SimulatedGateway) -> Bool {
        guard revision.isDeleted, gateway.dialect == .syncGateway else {
            return body.bytes == Scenario.bytesOfEvent(about: revision)
        }
        return body.members.map(\.name).sorted() == revision.body.members.map(\.name).sorted()
            && revision.body.members.allSatisfy(body.members.contains)
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
        records.hasArrived(document, revision)
    }

    private func violation(_ detail: String) -> Violation { Violation(guarantee: .webhooks, detail: detail) }
}
