package import LosslessJSON

/// Finds the columns for a table by looking at all its documents once.
///
/// A member becomes a column, in the order in which members are seen first. Its type says what all documents have
/// there: strings that are not empty, numbers, booleans, or else JSON text. The members of an object become columns of
/// their own, if all documents that have the member have an object there that is not empty; objects with more than a
/// thousand different members, which are maps rather, and those within 30 others become JSON text; so do `_attachments`.
///
/// Where columns were chosen, each of them is one, whatever the documents have there.
package struct CSVColumns: Sendable {
    /// As many as the common spreadsheets have.
    package static let limit = 16_384
    private static let mapSize = 1000
    private static let deepest = 30
    /// Members that are told apart, all levels together.
    private static let memberLimit = 200_000

    struct Kinds: OptionSet, Sendable {
        let rawValue: UInt8

        static let string = Kinds(rawValue: 1)
        static let number = Kinds(rawValue: 2)
        static let boolean = Kinds(rawValue: 4)
        /// With at least one member.
        static let object = Kinds(rawValue: 8)
        /// Whatever only JSON text can tell from the rest, and from nothing.
        static let other = Kinds(rawValue: 16)
    }

    struct Member: Sendable {
        let name: CSVMemberName
        var kinds: Kinds = []
        /// Indices of the members inside, in the order in which they were seen.
        var children: [Int] = []
        /// What was asked for, where the column was chosen.
        var chosenType: CSVColumnType?
    }

    private struct Key: Hashable {
        let parent: Int
        let name: CSVMemberName
    }

    /// The first one stands for the documents themselves.
    private(set) var members: [Member]
    private var indices: [Key: Int] = [:]
    /// Members that are columns, in their order; nil if all are that the documents have.
    private(set) var chosen: [Int]?

    package init(_ fields: CSVFields? = nil) {
        var document = Member(name: .empty)
        document.kinds = .object
        members = [document]
        chosen = fields?.columns.map { choose($0) }
    }

    /// Chosen columns that no document has a value for: their names may be wrong.
    package var unused: [String] {
        let paths = paths
        return (chosen ?? []).filter { members[$0].kinds.isEmpty }.map {
            String(decoding: paths[$0] ?? [], as: UTF8.self)
        }
    }

    /// Where each member is, as a header has it.
    var paths: [Int: [UInt8]] {
        var paths: [Int: [UInt8]] = [0: []]
        // Members come after the objects that they are in.
        for index in members.indices {
            for child in members[index].children {
                let path = paths[index] ?? []
                paths[child] = path + (path.isEmpty ? [] : [UInt8(ascii: ".")]) + members[child].name.pathPart
            }
        }
        return paths
    }

    private mutating func choose(_ column: CSVFields.Column) -> Int {
        var index = 0
        for name in column.path { index = indices[Key(parent: index, name: name)] ?? add(name, to: index) }
        members[index].chosenType = column.type
        return index
    }

    /// - Throws: ``CSVFault/tooManyColumns(limit:)``
    package mutating func observe(_ document: JSONValue) throws(CSVFault) {
        guard chosen == nil else { return observeChosen(document, at: 0) }
        observe(document, at: 0, depth: 0)
        guard members[0].children.count <= Self.limit else { throw .tooManyColumns(limit: Self.limit) }
    }

    private mutating func observe(_ object: JSONValue, at index: Int, depth: Int) {
        for (position, member) in object.members.enumerated() {
            let child =
                child(of: index, named: member.name, position: position)
                ?? add(CSVMemberName(member.name), to: index)
            let isTooMany = depth > 0 && members[index].children.count > Self.mapSize
            if isTooMany || depth > 0 && members.count > Self.memberLimit { return collapse(index) }
            let kind = Self.kind(of: member.value)
            let isText = depth >= Self.deepest || depth == 0 && members[child].name == .attachments
            members[child].kinds.insert(kind == .object && isText ? .other : kind)
            if members[child].kinds == .object {
                observe(member.value, at: child, depth: depth + 1)
            } else if !members[child].children.isEmpty {
                collapse(child)
            }
        }
    }

    /// As deep as the paths that were chosen.
    private mutating func observeChosen(_ object: JSONValue, at index: Int) {
        for (position, member) in object.members.enumerated() {
            guard let child = child(of: index, named: member.name, position: position) else { continue }
            let kind = Self.kind(of: member.value)
            if members[child].children.isEmpty {
                members[child].kinds.insert(kind == .object ? .other : kind)
            } else if kind == .object {
                observeChosen(member.value, at: child)
            }
        }
    }

    /// From now on the member is one column.
    private mutating func collapse(_ index: Int) {
        members[index].kinds.insert(.other)
        for child in members[index].children { indices[Key(parent: index, name: members[child].name)] = nil }
        members[index].children = []
    }

    private mutating func add(_ name: CSVMemberName, to index: Int) -> Int {
        members.append(Member(name: name))
        members[index].children.append(members.count - 1)
        indices[Key(parent: index, name: name)] = members.count - 1
        return members.count - 1
    }

    /// - Parameter position: Where the member stands in its object: mostly where it stood in the others.
    func child(of index: Int, named name: JSONValue, position: Int) -> Int? {
        let children = members[index].children
        if position < children.count, members[children[position]].name.isSpelled(name) { return children[position] }
        return indices[Key(parent: index, name: CSVMemberName(name))]
    }

    static func kind(of value: JSONValue) -> Kinds {
        switch value.kind {
        case .string: value.rawContent.isEmpty || !value.isText ? .other : .string
        case .number: .number
        case .true, .false: .boolean
        case .object: value.members.first { _ in true } == nil ? .other : .object
        case .null, .array: .other
        }
    }
}
