internal import LosslessJSON

/// A canonical spelling of JSON: members sorted by bytes, only the last of duplicates, no white space, strings in Go's
/// spelling. Numbers keep their spelling. Lone surrogates stay escaped, because UTF-8 can't represent them.
///
/// Revision digests are computed from it. Does not recurse, because documents may be 10,000 levels deep.
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
        case .string where value.isEscaped || GoString.mayDiffer(value.bytes):
            bytes.appendCanonicalString(value.characters)
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
            opening.appendCanonicalString(name)
            opening.append(UInt8(ascii: ":"))
            steps.append(value)
            steps.append(.text(opening))
        }
        if names.isEmpty { steps.append(.text([UInt8(ascii: "{")])) }
    }
}

extension [UInt8] {
    /// Appends a JSON string, quotes included.
    ///
    /// - Parameter characters: As in `JSONValue.characters`: a lone surrogate is three bytes, `ED A0 80` to `ED BF
    ///   BF`.
    fileprivate mutating func appendCanonicalString(_ characters: some Collection<UInt8>) {
        let start = count
        appendGoString(characters)
        var at = start
        while let half = self[at...].firstIndex(of: 0xED) {
            at = half + 1
            guard half + 2 < count, self[half + 1] >= 0xA0 else { continue }
            let unit = 0xD000 | Int(self[half + 1] & 0x3F) << 6 | Int(self[half + 2] & 0x3F)
            replaceSubrange(half...half + 2, with: "\\u\(String(unit, radix: 16))".utf8)
        }
    }
}
