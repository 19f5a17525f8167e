internal import LosslessJSON

/// JSON in one spelling for one content: members sorted by their bytes, of duplicates the last one, no white space,
/// strings with the fewest escapes. Numbers keep their text.
///
/// Revisions are named after it. Does not recurse: documents may be 10,000 levels deep.
enum CanonicalJSON {
    private enum Step {
        case value(JSONValue)
        case text([UInt8])
    }

    /// The canonical text of an object without some of its members.
    static func object(_ object: JSONValue, without names: Set<String>, tombstone: Bool) -> [UInt8] {
        var members: [[UInt8]: Step] = [:]
        for member in object.members {
            let name = Array(member.name.characters)
            if name.first == UInt8(ascii: "_"), names.contains(String(decoding: name, as: UTF8.self)) { continue }
            members[name] = .value(member.value)
        }
        if tombstone { members[Array("_deleted".utf8)] = .text(Array("true".utf8)) }
        var steps: [Step] = []
        push(members, onto: &steps)
        return run(steps)
    }

    /// The canonical text of any value.
    static func text(_ value: JSONValue) -> [UInt8] { run([.value(value)]) }

    private static func run(_ start: [Step]) -> [UInt8] {
        var steps = start
        var bytes: [UInt8] = []
        while let step = steps.popLast() {
            switch step {
            case .text(let text): bytes += text
            case .value(let value): write(value, &bytes, &steps)
            }
        }
        return bytes
    }

    private static func write(_ value: JSONValue, _ bytes: inout [UInt8], _ steps: inout [Step]) {
        switch value.kind {
        case .object:
            var members: [[UInt8]: Step] = [:]
            for member in value.members {
                members[Array(member.name.characters)] = .value(member.value)
            }
            push(members, onto: &steps)
        case .array:
            steps.append(.text([UInt8(ascii: "]")]))
            for (position, element) in Array(value.elements).enumerated().reversed() {
                steps.append(.value(element))
                if position > 0 { steps.append(.text([UInt8(ascii: ",")])) }
            }
            bytes.append(UInt8(ascii: "["))
        case .string where value.isEscaped: bytes.appendJSONString(value.utf8 ?? [])
        default: bytes += value.bytes
        }
    }

    /// Puts an object on the stack, its first member on top.
    private static func push(_ members: [[UInt8]: Step], onto steps: inout [Step]) {
        steps.append(.text([UInt8(ascii: "}")]))
        let names = members.keys.sorted { $0.lexicographicallyPrecedes($1) }
        for (position, name) in names.enumerated().reversed() {
            guard let value = members[name] else { continue }
            var opening = [UInt8(ascii: position == 0 ? "{" : ",")]
            opening.appendJSONString(name)
            opening.append(UInt8(ascii: ":"))
            steps.append(value)
            steps.append(.text(opening))
        }
        if names.isEmpty { steps.append(.text([UInt8(ascii: "{")])) }
    }
}
