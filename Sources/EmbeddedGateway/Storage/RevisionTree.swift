internal import GRDB

/// The known revision ids of one document and their parents.
///
/// Read only if a document has branches or might get one: most documents have a single line of revisions, whose newest
/// wins.
struct RevisionTree {
    struct Node {
        let key: Int64
        let id: StoredRevisionID
        let parent: Int64?
        let isDeleted: Bool

        /// Whether this leaf wins over another: a leaf that is not deleted first, then the higher generation, then the
        /// higher digest.
        func wins(over other: Node) -> Bool {
            guard isDeleted == other.isDeleted else { return other.isDeleted }
            return other.id < id
        }
    }

    private let nodes: [String: Node]
    private let parents: Set<Int64>

    init(of documentKey: Int64, _ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: "SELECT key, revision, parent, deleted FROM revisions WHERE document = ?")
        var nodes: [String: Node] = [:]
        var parents: Set<Int64> = []
        let rows = try Row.fetchCursor(statement, arguments: [documentKey])
        while let row = try rows.next() {
            guard let id = StoredRevisionID(row[1]) else { continue }
            let node = Node(key: row[0], id: id, parent: row[2], isDeleted: row[3])
            nodes[id.description] = node
            if let parent = node.parent { parents.insert(parent) }
        }
        self.nodes = nodes
        self.parents = parents
    }

    subscript(revision: String) -> Node? { nodes[revision] }

    func isLeaf(_ node: Node) -> Bool { !parents.contains(node.key) }

    /// The newest revision of each branch, the lowest id first.
    var leaves: [Node] { nodes.values.filter(isLeaf).sorted { $0.id < $1.id } }

    /// The id of the parent, if it is still known.
    func parent(of node: Node) -> StoredRevisionID? { nodes.values.first { $0.key == node.parent }?.id }

    /// The revision that is returned for the document.
    var winner: Node? { leaves.max { $1.wins(over: $0) } }
}
