/// The structure of a rule file as far as it can be recognized from indentation and brackets, even if the file is not
/// valid YAML or JSON.
struct Outline: Sendable {
    /// A value: of the file, of a member of an object, or an element of a list.
    struct Node: Sendable {
        enum Content: Sendable { case missing, scalar, object, list }

        var content = Content.missing
        /// The bytes of the value, with its quotes or brackets. Empty if it is missing.
        var range: Range<Int>
        /// Where the member or the element begins: at its name or its dash. Identifies it.
        let origin: Int
        /// The bytes of the member's name, with its quotes. Nil for the file and for elements.
        var key: Range<Int>?
        /// Nil for the file and for elements.
        var name: String?
        /// Whether a colon follows the name. True for elements.
        var hasColon = true
        let parent: Int?
        var children: [Int] = []
        /// Whether the value is in brackets.
        var isFlow = false
        /// The column of the names or dashes within the value, in bytes, unless it is in brackets.
        var indentation = 0
        /// The column of a scalar that begins its line, so that it may be the beginning of a name.
        var wordColumn: Int?
        /// Whether it is text after `|` or `>`.
        var isBlockText = false
    }

    /// The first is the file. Children come after their parents.
    private(set) var nodes = [Node(range: 0..<0, origin: 0, parent: nil)]

    /// For each node its place among the children of its parent.
    private(set) var places = [0]

    subscript(index: Int) -> Node {
        get { nodes[index] }
        set { nodes[index] = newValue }
    }

    /// Adds a member or an element, and returns its index.
    mutating func add(_ node: Node, to parent: Int) -> Int {
        nodes.append(node)
        places.append(nodes[parent].children.count)
        nodes[parent].children.append(nodes.count - 1)
        return nodes.count - 1
    }

    /// The value of a member. Nil if there is none.
    func member(_ name: String, of index: Int) -> Int? {
        guard nodes[index].content == .object else { return nil }
        return nodes[index].children.first { nodes[$0].name == name }
    }

    func member(_ names: [String], of index: Int = 0) -> Int? {
        names.reduce(index) { index, name in index.flatMap { member(name, of: $0) } }
    }

    /// The elements of the list that a member of the file has.
    func elements(of name: String) -> [Int] {
        guard let list = member(name, of: 0), nodes[list].content == .list else { return [] }
        return nodes[list].children
    }

    /// The innermost member or element whose name or value contains an offset, also at its end.
    func node(at offset: Int) -> Int? {
        var found: Int?
        var index: Int? = 0
        while let current = index {
            index = nodes[current].children.last { child in
                let node = nodes[child]
                return node.origin <= offset && offset <= max(node.range.upperBound, node.key?.upperBound ?? 0)
            }
            found = index ?? found
        }
        return found
    }

    /// The node that begins at an offset, and has the same kind.
    func node(like other: Node) -> Int? {
        nodes.indices.first {
            nodes[$0].origin == other.origin && (nodes[$0].parent == nil) == (other.parent == nil)
                && (nodes[$0].key == nil) == (other.key == nil)
        }
    }
}

/// A step from a value to a value within it.
enum OutlineStep: Equatable {
    case member(String)
    case element(Int)

    var name: String? { if case .member(let name) = self { name } else { nil } }
}

extension Outline {
    /// The way from the file to a node.
    func path(to index: Int) -> [OutlineStep] {
        var steps: [OutlineStep] = []
        var current = index
        while let parent = nodes[current].parent {
            if let name = nodes[current].name {
                steps.append(.member(name))
            } else {
                steps.append(.element(places[current]))
            }
            current = parent
        }
        return steps.reversed()
    }

    /// The name of the member that is a node, or whose list contains it. Nil for the file and its elements.
    func nearestName(of index: Int) -> String? {
        var current: Int? = index
        while let node = current {
            if let name = nodes[node].name { return name }
            current = nodes[node].parent
        }
        return nil
    }

    /// The node that a way leads to, without the members of the same names that follow.
    func node(at path: [OutlineStep]) -> Int? {
        path.reduce(0) { index, step in
            index.flatMap { index in
                switch step {
                case .member(let name): member(name, of: index)
                case .element(let place):
                    nodes[index].children.indices.contains(place) ? nodes[index].children[place] : nil
                }
            }
        }
    }

    /// Whether the file is a mapping.
    func isMapping(_ bytes: [UInt8]) -> Bool {
        guard let kind = member("kind", of: 0) else { return false }
        return bytes[nodes[kind].range].elementsEqual("mapping".utf8)
    }
}
