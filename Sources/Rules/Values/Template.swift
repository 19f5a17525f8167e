internal import LosslessJSON

/// A value of a rule file, with parts that jq programs compute for each document.
///
/// A computed part is an object with `jq`, or `jq` and `type`, at any depth.
struct Template: Sendable {
    fileprivate indirect enum Part: Sendable {
        case literal([UInt8])
        case computed(Computed)
        case object([(name: String, part: Part)])
        case list([Part])
    }

    fileprivate struct Computed: Sendable {
        /// In ``Template/programs``.
        let index: Int
        /// The permitted type of its outputs. Nil: any type.
        let type: ResultType?
        /// The position in the template, for messages: `lines[0].total`, or empty for the whole template.
        let place: String
    }

    private let root: Part
    /// The programs of the computed parts, as indexes in the ``ProgramList``.
    let programs: [Int]
    /// The value, if it has no computed parts.
    let literal: JSONText?

    /// Nil, with an error, if a program is not a string, or a type is not a JSON type.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        var programs: [Int] = []
        guard let root = Part(node, at: "", reading, &programs) else { return nil }
        self.root = root
        self.programs = programs
        literal = programs.isEmpty ? node.jsonText : nil
    }

    /// The values of the template. One, unless the whole template is computed: then all outputs of its program,
    /// possibly none.
    ///
    /// A member or element whose program has no output is omitted.
    ///
    /// - Parameter outputs: For each of ``programs``, its outputs.
    /// - Throws: ``ActionError`` if a member or element would have several values, or an output has a type that is not
    ///   permitted.
    func values(_ outputs: [[JSONText]]) throws(ActionError) -> [JSONText] {
        if let literal { return [literal] }
        if case .computed(let computed) = root { return try computed.checked(outputs) }
        var writer = JSONWriter()
        try root.write(to: &writer, outputs)
        do throws(JSONError) { return [try JSONText(writer.bytes)] } catch {
            throw .failed("the computed value is too large: \(error)")
        }
    }

    /// The single value. Nil if there is none, or it is null.
    func value(_ outputs: [[JSONText]], of what: String) throws(ActionError) -> JSONText? {
        let values = try values(outputs)
        guard values.count <= 1 else { throw .failed("\(what): the program gives \(values.count) values, not one") }
        return values.first?.root.kind == .null ? nil : values.first
    }
}

extension Template.Part {
    /// - Parameter place: As ``Template/Computed/place``.
    fileprivate init?(_ node: SourceNode, at place: String, _ reading: RuleReading, _ programs: inout [Int]) {
        switch node.content {
        case .null, .bool, .number, .string: self = .literal(node.json)
        case .list(let elements):
            // All elements are read, so that all errors are reported.
            let parts = elements.enumerated().map { index, element in
                Template.Part(element, at: "\(place)[\(index)]", reading, &programs)
            }
            guard !parts.contains(where: { $0 == nil }) else { return nil }
            self = .list(parts.compactMap(\.self))
        case .object(let members):
            if let computation = node.computation {
                let program = reading.program(computation.program)
                let type = computation.type.map { ResultType($0, reading.errors) }
                guard let program, type.map({ $0 != nil }) ?? true else { return nil }
                self = .computed(Template.Computed(index: programs.count, type: type ?? nil, place: place))
                programs.append(program)
                return
            }
            let parts = members.map { member in
                let place = place.isEmpty ? member.name : "\(place).\(member.name)"
                return Template.Part(member.value, at: place, reading, &programs).map { (member.name, $0) }
            }
            guard !parts.contains(where: { $0 == nil }) else { return nil }
            self = .object(parts.compactMap(\.self))
        }
    }

    /// Recurses as deep as a rule file may be nested.
    fileprivate func write(to writer: inout JSONWriter, _ outputs: [[JSONText]]) throws(ActionError) {
        switch self {
        case .literal(let json): writer.raw(json)
        case .computed(let computed): if let output = try computed.single(outputs) { writer.raw(output.bytes) }
        case .list(let parts):
            var elements = JSONWriter()
            for part in parts { try part.write(to: &elements, outputs) }
            writer.raw([UInt8(ascii: "[")] + elements.bytes + [UInt8(ascii: "]")])
        case .object(let members):
            var object = JSONWriter()
            for (name, part) in members {
                if case .computed(let computed) = part {
                    guard let output = try computed.single(outputs) else { continue }
                    object.member(name, raw: output.bytes)
                } else {
                    object.name(name)
                    try part.write(to: &object, outputs)
                }
            }
            writer.raw([UInt8(ascii: "{")] + object.bytes + [UInt8(ascii: "}")])
        }
    }

}

extension Template.Computed {
    /// The outputs of its program, if they have a permitted type.
    ///
    /// - Parameter outputs: For each program of the template, its outputs.
    fileprivate func checked(_ outputs: [[JSONText]]) throws(ActionError) -> [JSONText] {
        guard let type, let wrong = outputs[index].first(where: { !type.accepts($0.root) }) else {
            return outputs[index]
        }
        let what = place.isEmpty ? "the result" : "'\(place)'"
        throw .failed("\(what) must be \(type.text); the program gives \(wrong.excerpt)\(type.remedy(for: wrong))")
    }

    /// The only output, if there is one.
    fileprivate func single(_ outputs: [[JSONText]]) throws(ActionError) -> JSONText? {
        let outputs = try checked(outputs)
        guard outputs.count <= 1 else {
            throw .failed("a program inside a value gives \(outputs.count) values; it must give one")
        }
        return outputs.first
    }
}
