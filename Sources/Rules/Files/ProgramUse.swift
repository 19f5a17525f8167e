/// A program of a rule and its position in the file.
struct ProgramUse: Sendable {
    /// The index in the ``ProgramList``.
    let program: Int
    let position: SourcePosition
}

extension Rule {
    /// ` (PATH:LINE:COLUMN)`: where a step of the rule failed. Empty if its actions have only one program.
    ///
    /// - Parameter program: The program that failed. Nil: the action itself.
    func place(ofStep step: Int, program: Int?) -> String {
        guard case .list(let elements)? = definition.source.member("then")?.content, elements.indices.contains(step),
            let first = elements.first
        else { return "" }
        let uses = definition.programs.filter { $0.position >= first.position }
        guard uses.count > 1 else { return "" }
        let element = elements[step].position
        let next = step + 1 < elements.count ? elements[step + 1].position : nil
        let own = uses.filter { use in use.position >= element && next.map { use.position < $0 } ?? true }
        let position =
            program.flatMap { program in own.first { $0.program == program }?.position }
            ?? (own.count == 1 ? own[0].position : element)
        return " (\(definition.path):\(position.line):\(position.column))"
    }
}

extension SourcePosition: Comparable {
    package static func < (left: Self, right: Self) -> Bool { (left.line, left.column) < (right.line, right.column) }
}
