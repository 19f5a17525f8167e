internal import LosslessJSON

/// Checks that a rule with `changed` fires once for each difference.
struct EdgeCheck {
    private struct Fired: Equatable {
        let process: Int
        let value: String
    }

    /// The last events of documents whose acceptance a process knows.
    private var known: [String: Fired] = [:]

    /// A bot begins: it may have lost what it knew.
    mutating func noteRestart() { known = [:] }

    /// A process has got the answer that an event is accepted.
    mutating func noteAccepted(_ request: OutsideRequest) {
        guard let (id, value, _) = Self.event(request) else { return }
        known[id] = Fired(process: request.process, value: value)
    }

    /// A process sends an event.
    ///
    /// - Throws: ``Violation``.
    func checkSent(_ request: OutsideRequest, _ gateway: SimulatedGateway) throws {
        guard let (id, value, revision) = Self.event(request), let document = gateway.documents[id],
            known[id] == Fired(process: request.process, value: value)
        else { return }
        // Another branch may have won in between.
        let parents = document.revisions.compactMap(\.parent)
        guard Set(parents).count == parents.count, document.leaves.count == 1 else { return }
        throw Violation(
            guarantee: .edges,
            detail:
                "bot \(request.process) sends the event about \(id) \(revision.short) with n = \(value), but it has "
                + "sent one with this value before, and none with another one since then")
    }

    private static func event(_ request: OutsideRequest) -> (id: String, value: String, revision: String)? {
        guard let root = (try? JSONText(request.body))?.root, root["type"]?.isString("meter") == true,
            let id = root["_id"]?.string, let revision = root["_rev"]?.string, let value = root["n"]?.integer
        else { return nil }
        return (id, String(value), revision)
    }
}
