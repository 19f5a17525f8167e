internal import JQ

/// The jq programs of all rule files of a set, each once.
///
/// They are compiled together when all files are read: what does not compile is a fault of every place that uses it.
final class ProgramList {
    private struct Use {
        let program: Int
        let path: String
        let position: SourcePosition
    }

    private(set) var texts: [String] = []
    private var indexes: [String: Int] = [:]
    private var uses: [Use] = []

    /// The index of a program in ``texts``.
    func add(_ text: String, path: String, at position: SourcePosition) -> Int {
        let index = indexes[text] ?? texts.count
        if index == texts.count {
            texts.append(text)
            indexes[text] = index
        }
        uses.append(Use(program: index, path: path, position: position))
        return index
    }

    /// What does not compile. Blocks for some 15 ms a program.
    func compile() -> [RuleFileFault] {
        guard !texts.isEmpty else { return [] }
        let results: [JQCompileFault?]
        do throws(JQFault) { results = try JQCompiler.check(texts) } catch {
            let use = uses[0]
            return [
                RuleFileFault(
                    path: use.path, position: use.position, message: "jq programs can't be compiled here: \(error)")
            ]
        }
        return uses.compactMap { use in
            results[use.program].map { fault in
                RuleFileFault(
                    path: use.path, position: use.position,
                    message: "not a jq program: \(fault); \(Self.remedy(for: fault))")
            }
        }
    }

    private static func remedy(for fault: JQCompileFault) -> String {
        fault.description.contains("/0 is not defined")
            ? "correct it; a text needs quotes of its own, jq: '\"text\"', a field a dot, jq: .field" : "correct it"
    }
}
