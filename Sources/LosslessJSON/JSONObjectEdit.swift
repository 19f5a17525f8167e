/// Changes to the members of one object, as splices of its text.
///
/// A removed member is removed with its comma and white space. All other bytes stay. A thousand changes to a thousand
/// members take a thousand steps.
struct JSONObjectEdit {
    private let object: JSONValue
    private let members: MemberPositions
    private var replaced: [Int: [UInt8]] = [:]
    private var removed: Set<Int> = []
    private var appended: [UInt8] = []

    /// - Throws: `.duplicateMember` if two members share a name, because the one to edit is ambiguous.
    init(_ object: JSONValue) throws(JSONEditError) {
        self.object = object
        members = MemberPositions(object)
        if let duplicate = members.firstDuplicate {
            throw .duplicateMember(name: members[duplicate].name.string ?? "")
        }
    }

    /// An edit that removes all null members and, of members that share a name, all but the last.
    init(removingNullsOf object: JSONValue) {
        self.object = object
        let members = MemberPositions(object)
        self.members = members
        removed = Set(
            members.indices.filter {
                members[$0].value.kind == .null || members.position(of: members[$0].name.characters) != $0
            })
    }

    /// The member's value in the text before any change. Nil if there is none.
    func value(of name: ArraySlice<UInt8>) -> JSONValue? { members.position(of: name).map { members[$0].value } }

    /// The values of the members that are not removed.
    var keptValues: [JSONValue] { members.indices.filter { !removed.contains($0) }.map { members[$0].value } }

    /// Replaces the value of this member, or appends the member. Must be called at most once per name.
    mutating func set(_ name: String, to value: [UInt8]) {
        if let position = members.position(of: Array(name.utf8)[...]) {
            replaced[position] = value
        } else {
            var spelling: [UInt8] = []
            spelling.appendJSONString(name.utf8)
            append(spelling, value)
        }
    }

    /// Replaces the value of this member, or appends it with its name spelled as in `name`.
    mutating func set(_ name: JSONValue, to value: [UInt8]) {
        if let position = members.position(of: name.characters) {
            replaced[position] = value
        } else {
            append(name.bytes, value)
        }
    }

    private mutating func append(_ spelling: some Collection<UInt8>, _ value: [UInt8]) {
        if !appended.isEmpty { appended.append(UInt8(ascii: ",")) }
        appended.append(contentsOf: spelling)
        appended.append(UInt8(ascii: ":"))
        appended.append(contentsOf: value)
    }

    /// - Returns: False if there is no such member.
    mutating func remove(_ name: ArraySlice<UInt8>) -> Bool {
        guard let position = members.position(of: name) else { return false }
        removed.insert(position)
        return true
    }

    func splice(into splices: inout JSONSplices) {
        for (position, value) in replaced { splices.replace(members[position].value.range, with: value) }
        var lastKept: Int?
        for position in members.indices {
            guard removed.contains(position) else {
                lastKept = position
                continue
            }
            let range = members[position].range
            if lastKept != nil {
                splices.delete(members[position - 1].range.upperBound..<range.upperBound)
            } else if position + 1 < members.indices.count {
                splices.delete(range.lowerBound..<members[position + 1].range.lowerBound)
            } else {
                splices.delete(range)
            }
        }
        guard !appended.isEmpty else { return }
        if let lastKept {
            splices.insert([UInt8(ascii: ",")] + appended, at: members[lastKept].range.upperBound)
        } else {
            // In place of the first member, or directly after the bracket.
            splices.insert(
                appended, at: members.indices.first.map { members[$0].range.lowerBound } ?? object.range.lowerBound + 1)
        }
    }
}
