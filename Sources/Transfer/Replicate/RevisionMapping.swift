internal import Encodings
internal import GatewayClient
internal import LosslessJSON
internal import Revisions
internal import Rules

/// Maps revisions during a replication: `--map`.
///
/// Id, revision, history and attachments stay. Tombstones are not mapped.
struct RevisionMapping: Sendable {
    enum Outcome {
        case mapped(ReplicatedRevision)
        /// The mapping drops the document.
        case dropped
        case failed(reason: String)
    }

    /// Members that are hidden from the mapping and kept.
    private static let kept: Set<String> = ["_rev", "_revisions", "_attachments", "_deleted"]

    private let mapping: Mapping

    init(_ mapping: Mapping) { self.mapping = mapping }

    /// One outcome for each revision, in order.
    func map(_ revisions: [ReplicatedRevision]) async -> [Outcome] {
        let results = await mapping.makeMapper().map(revisions.map(Self.input), now: Timestamp.secondsNow)
        return zip(revisions, results).map { revision, result in
            revision.isDeleted ? .mapped(revision) : Self.outcome(of: revision, result)
        }
    }

    private static func input(_ revision: ReplicatedRevision) -> [UInt8] {
        var body = JSONWriter(minimumCapacity: revision.text.bytes.count)
        body.object { body in
            for member in revision.text.root.members
            where !kept.contains(member.name.string ?? "") && !member.name.isString("_cv") {
                body.raw(revision.text.bytes[member.range])
            }
        }
        return body.bytes
    }

    private static func outcome(of revision: ReplicatedRevision, _ result: MappingResult) -> Outcome {
        if let error = result.error { return .failed(reason: "the mapping fails: \(error)") }
        guard let output = result.documents.first else { return .dropped }
        guard result.documents.count == 1, output.id == revision.key.id.text else {
            return .failed(
                reason: "the mapping turns it into other documents, but a replicated revision must stay one document")
        }
        var body = JSONWriter(minimumCapacity: revision.text.bytes.count)
        body.object { body in
            for member in output.document.root.members where !kept.contains(member.name.string ?? "") {
                body.raw(output.document.bytes[member.range])
            }
            for member in revision.text.root.members where kept.contains(member.name.string ?? "") {
                body.raw(revision.text.bytes[member.range])
            }
        }
        guard let text = try? JSONText(body.bytes) else {
            return .failed(reason: "the result of the mapping is not valid JSON")
        }
        return .mapped(
            ReplicatedRevision(
                text: text, key: revision.key, knownAncestors: revision.knownAncestors,
                isLosing: revision.isLosing))
    }
}
