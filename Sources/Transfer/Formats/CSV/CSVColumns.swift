package import LosslessJSON

/// Finds the columns of a table in one pass over all documents.
///
/// Members become columns in the order in which they are first seen. A column's type is what all documents have there:
/// non-empty strings, numbers or booleans; otherwise JSON text.
///
/// If all documents that have a member have a non-empty object there, that object's members become columns instead.
/// Three things become JSON text: objects with more than a thousand different members (probably maps), objects nested
/// in 30 others, and `_attachments`.
///
/// If columns were chosen, exactly these are used, whatever the documents contain.
package struct CSVColumns: Sendable {
    /// The maximum number of columns of a table: the limit of common spreadsheets.
    package static let limit = 16_384
    private static let mapSize = 1000
    private static let maxDepth = 30
    /// The maximum number of members tracked, over all levels.
    private static let memberLimit = 200_000

    struct Kinds: OptionSet, Sendable {
        let rawValue: UInt8

        static let string = Kinds(rawValue: 1)
        static let number = Kinds(rawValue: 2)
        static let boolean = Kinds(rawValue: 4)
        /// With at least one member.
        static let object = Kinds(rawValue: 8)
        /// Values that only JSON text can represent: null, arrays, empty strings, empty objects, and strings with lone
        /// surrogates.
        static let other = Kinds(rawValue: 16)
    }

    struct Member: Sendable {
        let name: CSVMemberName
        var kinds: Kinds = []
        /// Indices of the members of this object, in the order in which they were first seen.
        var children: [Int] = []
        /// The type that was given with a chosen column.
        var chosenType: CSVColumnType?
    }

    private struct Key: Hashable {
        let parent: Int
        let name: CSVMemberName
    }

    /// The first one stands for the document itself.
    private(set) var members: [Member]
    private var indices: [Key: Int] = [:]
    /// Indices of the chosen columns, in order; nil if all members become columns.
    private(set) var chosen: [Int]?

    /// - Parameter fields: The chosen columns; nil for all members of the documents.
    package init(_ fields: CSVFields? = nil) {
        var document = Member(name: .empty)
        document.kinds = .object
        members = [document]
        chosen = fields?.columns.map { choose($0) }
    }

    /// Chosen columns for which no document has a value; their names may be wrong.
    package var unused: [String] {
        let paths = paths
        return (chosen ?? []).filter { members[$0].kinds.isEmpty }.map {
            String(decoding: paths[$0] ?? [], as: UTF8.self)
        }
    }

    /// The path of each member as in a header, by index.
    var paths: [Int: [UInt8]] {
        var paths: [Int: [UInt8]] = [0: []]
        // Members come after the objects that contain them.
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

    /// Looks at one document. Call for all documents before a ``CSVWriter`` is made.
    ///
    /// - Throws: ``CSVError/tooManyColumns(limit:)``
    package mutating func observe(_ document: JSONValue) throws(CSVError) {
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
            let isText = depth >= Self.maxDepth || depth == 0 && members[child].name == .attachments
            members[child].kinds.insert(kind == .object && isText ? .other : kind)
            if members[child].kinds == .object {
                observe(member.value, at: child, depth: depth + 1)
            } else if !members[child].children.isEmpty {
                collapse(child)
            }
        }
    }

    /// Recurses only as deep as the chosen paths.
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

    /// Makes an object a single column of JSON text from now on.
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

    /// - Parameter position: The member's position in its object. It is usually the same in all documents, and then
    ///   saves a lookup.
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
