/// Checks the documents with totals.
enum TotalCheck {
    /// A write changes only the totals, or creates the document.
    ///
    /// - Parameter parent: The revision that the bot replaces.
    /// - Throws: ``Violation``.
    static func checkWrite(
        _ document: StoredDocument, _ revision: StoredRevision, replacing parent: StoredRevision?
    ) throws {
        let isCreated = parent?.isDeleted != false
        let before = isCreated ? [Array(#""type":"total""#.utf8)] : others(parent)
        guard !revision.isDeleted, others(revision) == before else {
            throw Violation(
                guarantee: .bytes,
                detail: "\(document.id) \(parent?.body.text ?? "") became \(revision.body.text)")
        }
    }

    private static func others(_ revision: StoredRevision?) -> [[UInt8]] {
        revision?.body.members.filter { !Scenario.totalMembers.contains($0.name) }.map(\.bytes) ?? []
    }

    /// At a quiet moment: the totals equal a full count.
    ///
    /// - Throws: ``Violation``.
    static func checkAtQuietMoment(_ gateway: SimulatedGateway) throws {
        for (id, wanted) in Scenario.totals(gateway).sorted(by: { $0.key < $1.key }) {
            let body = gateway.documents[id]?.body
            // Without documents that add to it, it may be missing.
            guard body != nil || wanted[0] != 0 else { continue }
            let found = Scenario.totalMembers.map { body?[$0] ?? "missing" }
            guard found != wanted.map(String.init) else { continue }
            throw Violation(
                guarantee: .totals,
                detail: "\(id) has \(found.joined(separator: ", ")), and a full count gives "
                    + wanted.map(String.init).joined(separator: ", ")
                    + ", of \(Scenario.contributors(to: id, gateway).joined(separator: ", "))")
        }
    }
}
