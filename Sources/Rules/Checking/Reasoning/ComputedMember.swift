/// A member of the document whose value a rule computes with a separate program.
struct ComputedMember {
    /// The names of members, from the root of the document.
    let path: [String]
    private let program: String

    private init(_ program: String, at path: [String]) {
        self.path = path
        self.program = program
    }

    /// Whether the program certainly gives a new value each time: `.n + 1`.
    var incrementsItself: Bool { CounterProgram(program)?.path == path }

    /// Whether the program returns the member's old value.
    var returnsOldValue: Bool {
        CounterProgram.path(program.trimmed) == path
    }

    /// The equivalent program for the changed document, if this one reads only `$source`: `$source.n + 1`.
    var sourceProgram: String? {
        let text = program.replacing("$source.", with: ".")
        return text != program && ProgramReading(program).paths.isEmpty ? text : nil
    }

    var readsTime: Bool { ProgramReading(program).readsTime }
}

extension ComputedMember {
    /// The computed members of actions that are otherwise literal.
    static func all(of rule: Rule) -> [ComputedMember] {
        rule.locatedSteps.filter { $0.step.elements == nil }.flatMap { $0.step.action.computedMembers($0.argument) }
    }

    /// Recurses as deep as a rule file may be nested.
    static func members(_ node: SourceNode, _ path: [String]) -> [ComputedMember] {
        switch node.content {
        case .object(let members):
            if let computation = node.computation {
                return computation.program.text.map { [ComputedMember($0, at: path)] } ?? []
            }
            return members.flatMap { self.members($0.value, path + [$0.name]) }
        case .list(let elements): return elements.flatMap { members($0, path) }
        case .null, .bool, .number, .string: return []
        }
    }
}
