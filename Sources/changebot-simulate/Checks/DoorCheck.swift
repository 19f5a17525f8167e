internal import LosslessJSON

/// Checks the rules that fire when a document starts or stops matching.
struct DoorCheck {
    /// When each document was last written, as the number of the write.
    private var written: [String: Int] = [:]
    private var count = 0
    /// When the bot last lost what it remembered.
    private var forgotten = 0

    mutating func note(_ document: StoredDocument) {
        count += 1
        written[document.id] = count
    }

    mutating func noteRestart() { forgotten = count }

    /// An event is about a revision that matches, or one that does not.
    ///
    /// - Throws: ``Violation``.
    func note(_ request: OutsideRequest, _ gateway: SimulatedGateway) throws {
        guard let root = (try? JSONText(request.body))?.root, let id = root["_id"]?.string,
            let revision = root["rev"]?.string.flatMap({ gateway.documents[id]?.revision($0) })
        else {
            // The bot has not noticed yet that the database was replaced.
            if gateway.replacements > 0 { return }
            throw violation("the receiver got an event of no revision: \(request.summary)")
        }
        guard root["isOpen"]?.bool == Scenario.isOpenDoor(revision) else {
            throw violation("the receiver got another event about \(id) \(revision.id.short) \(revision.body.text)")
        }
    }

    /// At a quiet moment: the state remembers the documents that match, and no others.
    ///
    /// - Parameter isFailed: Whether the decision about a revision has failed.
    /// - Throws: ``Violation``.
    func checkAtQuietMoment(
        _ gateway: SimulatedGateway, _ state: StateCheck?, _ isFailed: (StoredDocument, StoredRevision) -> Bool
    ) throws {
        guard let remembered = state?.documents(rememberedBy: Scenario.closingRule) else { return }
        for id in gateway.ids where written[id, default: 0] > forgotten {
            guard let document = gateway.documents[id], let winner = document.winner,
                Scenario.isOpenDoor(winner) != remembered.contains(id), !isFailed(document, winner)
            else { continue }
            throw violation(
                "the bot \(remembered.contains(id) ? "still" : "does not yet") take \(id) for an open door, but "
                    + "\(winner.id.short) is \(winner.isDeleted ? "deleted" : winner.body.text)")
        }
    }

    private func violation(_ detail: String) -> Violation { Violation(guarantee: .doors, detail: detail) }
}
