internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON

/// The documents that a bot has recently written.
struct RecentEffects: Sendable {
    /// The maximum number of documents.
    static let limit = 20
    /// Longer documents are kept without their content.
    private static let maxDocumentSize = 64 << 10

    private struct Effect {
        let document: WrittenDocument
        let time: String
    }

    /// The newest document comes last.
    private var effects: [Effect] = []

    /// - Parameter withContent: Whether the documents' content is kept.
    mutating func add(_ documents: [WrittenDocument], withContent: Bool, at time: String) {
        for var document in documents.suffix(Self.limit) {
            let size = max(document.before?.bytes.count ?? 0, document.after?.bytes.count ?? 0)
            if !withContent || size > Self.maxDocumentSize { (document.before, document.after) = (nil, nil) }
            effects.append(Effect(document: document, time: time))
        }
        effects.removeFirst(max(0, effects.count - Self.limit))
    }

    /// An array, the newest first.
    ///
    /// - Parameter diff: The member `diff` of documents whose content was kept: lines that begin with `+`, `-` or a
    ///   space.
    func write(to writer: inout JSONWriter, diff: (_ before: JSONText?, _ after: JSONText?) -> [String]) {
        writer.array { writer in
            for effect in effects.reversed() {
                writer.object { writer in
                    let document = effect.document
                    writer.member("time", string: effect.time)
                    writer.member("id", string: document.id.text)
                    if let keyspace = document.keyspace { writer.member("keyspace", string: keyspace) }
                    writer.member("revision", string: document.revision.text)
                    writer.member("deleted", bool: document.isDeletion)
                    writer.name("rules")
                    writer.array { writer in for rule in document.rules { writer.string(rule) } }
                    guard document.before != nil || document.after != nil else { return }
                    writer.name("diff")
                    writer.array { writer in
                        for line in diff(document.before, document.after) { writer.string(line) }
                    }
                }
            }
        }
    }
}
