internal import LosslessJSON

/// Checks at a quiet moment that the checkpoint has been saved, and copied into the database.
enum CheckpointCheck {
    /// How long it may take, with what may delay it, in nanoseconds.
    private static let delay: Int64 = 130_000_000_000

    /// - Parameter changes: When each document was last changed, in nanoseconds of uptime.
    /// - Throws: ``Violation``.
    static func checkAtQuietMoment(
        _ gateway: SimulatedGateway, _ state: StateCheck?, _ changes: [String: Int64], copies: Bool
    ) throws {
        let limit = gateway.scheduler.uptime - delay
        let settled = gateway.ids.compactMap { gateway.documents[$0] }.filter { changes[$0.id, default: 0] < limit }
        try check("the checkpoint", try state?.newestCheckpoint(), settled, gateway)
        // A copy is made at most every 55 s, of a checkpoint of that time.
        let copied = settled.filter { changes[$0.id, default: 0] < limit - delay }
        if copies { try check("the copy of the checkpoint in the database", copy(in: gateway), copied, gateway) }
    }

    private static func check(
        _ name: String, _ checkpoint: String?, _ settled: [StoredDocument], _ gateway: SimulatedGateway
    ) throws {
        let position = checkpoint.flatMap(gateway.positions.position)
        let late = settled.first { document in position.map { !gateway.hasPassed(document, $0) } ?? true }
        guard let late else { return }
        throw Violation(
            guarantee: .checkpointAge,
            detail: "\(name) is \(checkpoint ?? "missing"), and \(late.id) at \(late.sequence) was done long ago")
    }

    private static func copy(in gateway: SimulatedGateway) -> String? {
        let mark = gateway.content.localDocuments.first { path, _ in
            path.hasPrefix("_local/changebot.") && !path.hasPrefix(Connection.markOfPasses)
        }
        guard let body = mark?.value.body, let root = (try? JSONText(Array("{".utf8) + body + Array("}".utf8)))?.root
        else { return nil }
        return root["checkpoint"].map { String(decoding: $0.bytes, as: UTF8.self) }
    }
}
