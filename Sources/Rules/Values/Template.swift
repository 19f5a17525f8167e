internal import LosslessJSON

/// A value of a rule file, with parts that jq programs compute for each document.
///
/// A computed part is an object whose only member is `jq`, at any depth.
struct Template: Sendable {
    fileprivate indirect enum Part: Sendable {
        case literal([UInt8])
        /// An index in ``Template/programs``.
        case computed(Int)
        case object([(name: String, part: Part)])
        case list([Part])
    }

    private let root: Part
    /// The programs of the computed parts, as indexes in the ``ProgramList``.
    let programs: [Int]
    /// The value, if it has no computed parts.
    let literal: JSONText?

    /// Nil, with an error, if a program is not a string.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        var programs: [Int] = []
        guard let root = Part(node, reading, &programs) else { return nil }
        self.root = root
        self.programs = programs
        literal = programs.isEmpty ? node.jsonText : nil
    }

    /// The values of the template: one, unless the whole template is computed. Then they are the outputs of its
    /// program, of which there may be none or many.
    ///
    /// A member or element whose program has no output is left out.
    ///
    /// - Parameter outputs: For each of ``programs`` its outputs.
    /// - Throws: ``ActionError`` if a member or element would have several values.
    func values(_ outputs: [[JSONText]]) throws(ActionError) -> [JSONText] {
        if let literal { return [literal] }
        if case .computed(let index) = root { return outputs[index] }
        var writer = JSONWriter()
        try root.write(to: &writer, outputs)
        do throws(JSONError) { return [try JSONText(writer.bytes)] } catch {
            throw .failed("the computed value is too large: \(error)")
        }
    }

    /// The single value; nil if there is none, or it is null.
    func value(_ outputs: [[JSONText]], of what: String) throws(ActionError) -> JSONText? {
        let values = try values(outputs)
        guard values.count <= 1 else { throw .failed("\(what): the program gives \(values.count) values, not one") }
        return values.first?.root.kind == .null ? nil : values.first
    }
}

extension Template.Part {
    init?(_ node: SourceNode, _ reading: RuleReading, _ programs: inout [Int]) {
        switch node.content {
        case .null, .bool, .number, .string: self = .literal(node.json)
        case .list(let elements):
            var parts: [Template.Part] = []
            for element in elements {
                guard let part = Template.Part(element, reading, &programs) else { return nil }
                parts.append(part)
            }
            self = .list(parts)
        case .object(let members):
            if members.count == 1, members[0].name == "jq" {
                guard let program = reading.program(members[0].value) else { return nil }
                self = .computed(programs.count)
                programs.append(program)
                return
            }
            var parts: [(String, Template.Part)] = []
            for member in members {
                guard let part = Template.Part(member.value, reading, &programs) else { return nil }
                parts.append((member.name, part))
            }
            self = .object(parts)
        }
    }

    /// Recurses as deep as a rule file may be nested.
    fileprivate func write(to writer: inout JSONWriter, _ outputs: [[JSONText]]) throws(ActionError) {
        switch self {
        case .literal(let json): writer.raw(json)
        case .computed(let index): if let output = try single(outputs[index]) { writer.raw(output.bytes) }
        case .list(let parts):
            var elements = JSONWriter()
            for part in parts { try part.write(to: &elements, outputs) }
            writer.raw([UInt8(ascii: "[")] + elements.bytes + [UInt8(ascii: "]")])
        case .object(let members):
            var object = JSONWriter()
            for (name, part) in members {
                if case .computed(let index) = part {
                    guard let output = try single(outputs[index]) else { continue }
                    object.member(name, raw: output.bytes)
                } else {
                    object.name(name)
                    try part.write(to: &object, outputs)
                }
            }
            writer.raw([UInt8(ascii: "{")] + object.bytes + [UInt8(ascii: "}")])
        }
    }

    private func single(_ outputs: [JSONText]) throws(ActionError) -> JSONText? {
        guard outputs.count <= 1 else {
            throw .failed("a program inside a value gives \(outputs.count) values; it must give one")
        }
        return outputs.first
    }
}
