internal import LosslessJSON

/// A revision in the simulated gateway.
struct StoredRevision {
    /// Who wrote it.
    enum Author: Hashable {
        case user
        case bot(Int)
    }

    let id: String
    let generation: Int
    /// Nil for a document's first revision.
    let parent: String?
    let body: DocumentBody
    /// Sorted by name.
    var attachments: [StoredAttachment] = []
    let isDeleted: Bool
    let author: Author
    /// Whether it was stored with its id, as replication and the resolution of conflicts do.
    var isReplicated = false

    /// The winner is the greatest leaf.
    static func wins(_ left: StoredRevision, over right: StoredRevision) -> Bool {
        if left.isDeleted != right.isDeleted { return right.isDeleted }
        return (left.generation, left.id) > (right.generation, right.id)
    }
}

/// A document's members as their author wrote them, without those of the gateway.
struct DocumentBody: Equatable {
    struct Member: Equatable {
        let name: String
        /// Name and value, byte for byte.
        let bytes: [UInt8]
        let value: [UInt8]
    }

    let members: [Member]

    /// - Parameter document: A JSON object.
    init(_ document: JSONValue) {
        members = document.members.compactMap { member in
            guard let name = member.name.string, !name.hasPrefix("_") else { return nil }
            let text = member.value.text.bytes
            return Member(name: name, bytes: Array(text[member.range]), value: Array(member.value.bytes))
        }
    }

    init(json: String) throws { self.init(try JSONText(Array(json.utf8)).root) }

    /// The JSON text of a member's value; nil if there is none.
    subscript(name: String) -> String? {
        members.first { $0.name == name }.map { String(decoding: $0.value, as: UTF8.self) }
    }

    var bytes: [UInt8] { Array(members.map(\.bytes).joined(separator: Array(",".utf8))) }
    var text: String { "{\(String(decoding: bytes, as: UTF8.self))}" }
}
