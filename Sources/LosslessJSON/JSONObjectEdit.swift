/// Changes to the members of one object, turned into splices.
///
/// The commas and the white space that a change strands go with it; everything else stays where it is.
struct JSONObjectEdit {
    private let object: JSONValue
    private let members: [JSONValue.Member]
    private var replaced: [Int: [UInt8]] = [:]
    private var removed: Set<Int> = []
    private var appended: [(name: String, value: [UInt8])] = []

    /// - Throws: `.duplicateMember`: which of them an edit would mean is a guess.
    init(_ object: JSONValue) throws(JSONEditFault) {
        self.object = object
        members = Array(object.members)
        var seen: Set<[UInt8]> = []
        for member in members {
            guard let name = member.name.utf8, seen.insert(name).inserted else {
                throw .duplicateMember(name: member.name.string ?? "")
            }
        }
    }

    func position(of name: String) -> Int? { members.firstIndex { $0.name.isString(name.utf8) } }

    func value(at position: Int) -> JSONValue { members[position].value }

    /// Replaces the member of this name, or appends one.
    mutating func set(_ name: String, to value: [UInt8]) {
        if let position = position(of: name) {
            replaced[position] = value
        } else {
            appended.append((name, value))
        }
    }

    mutating func remove(at position: Int) { removed.insert(position) }

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
            } else if position + 1 < members.count {
                splices.delete(range.lowerBound..<members[position + 1].range.lowerBound)
            } else {
                splices.delete(range)
            }
        }
        guard !appended.isEmpty else { return }
        var addition: [UInt8] = []
        for (index, member) in appended.enumerated() {
            if index > 0 || lastKept != nil { addition.append(UInt8(ascii: ",")) }
            addition.appendJSONString(member.name.utf8)
            addition.append(UInt8(ascii: ":"))
            addition.append(contentsOf: member.value)
        }
        let offset = lastKept.map { members[$0].range.upperBound } ?? object.range.lowerBound + 1
        splices.insert(addition, at: offset)
    }
}
