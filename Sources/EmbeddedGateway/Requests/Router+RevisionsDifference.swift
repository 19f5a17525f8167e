internal import HTTPServing
internal import LosslessJSON

extension Router {
    /// `POST /DB/_revs_diff`: which of the client's revisions are missing here.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1, and its `RevDiff` for `possible_ancestors`.
    func revisionsDifference(_ request: Request) async throws -> Answer {
        guard request.method == "POST" else { throw RequestError.methodNotAllowed("POST") }
        var text = Array("{".utf8)
        for member in try request.object().members {
            guard let id = member.name.string else { continue }
            guard member.value.kind == .array, member.value.elements.allSatisfy({ $0.kind == .string }) else {
                throw RequestError(400, "Bad JSON: a list of revisions is expected for each document")
            }
            let asked = member.value.elements.compactMap(\.string)
            let difference = RevisionsDifference(asked, try store.tree(of: id))
            guard !difference.missing.isEmpty else { continue }
            if text.count > 1 { text += ",\n".utf8 }
            text.appendJSONString(id.utf8)
            text += ":".utf8 + difference.text + "\n".utf8
        }
        return Answer(
            status: 200, fields: [HTTPField("Content-Type", "text/plain; charset=utf-8")],
            body: .whole(text + [UInt8(ascii: "}")]))
    }
}

/// The missing revisions of one document, and existing ones that may be their ancestors.
struct RevisionsDifference {
    private(set) var missing: [String] = []
    private(set) var possibleAncestors: [String] = []

    init(_ asked: [String], _ tree: RevisionTree?) {
        guard let tree else {
            missing = asked
            return
        }
        for name in asked where tree[name] == nil {
            missing.append(name)
            guard let revision = StoredRevisionID(name), revision.generation > 1 else { continue }
            for leaf in tree.leaves where !asked.contains(leaf.id.description) {
                guard let ancestor = Self.ancestor(leaf, of: revision, tree)?.description,
                    !possibleAncestors.contains(ancestor)
                else { continue }
                possibleAncestors.append(ancestor)
            }
        }
    }

    private static func ancestor(
        _ leaf: RevisionTree.Node, of revision: StoredRevisionID, _ tree: RevisionTree
    ) -> StoredRevisionID? {
        if leaf.id.generation == revision.generation { return tree.parent(of: leaf) }
        return (revision.generation - 100..<revision.generation).contains(leaf.id.generation) ? leaf.id : nil
    }

    fileprivate var text: [UInt8] {
        var text = JSONWriter()
        text.object { text in
            text.name("missing")
            text.array { list in for name in missing { list.escapedString(name) } }
            guard !possibleAncestors.isEmpty else { return }
            text.name("possible_ancestors")
            text.array { list in for name in possibleAncestors { list.escapedString(name) } }
        }
        return text.bytes
    }
}
