internal import CJQ

/// The programs of a helper process, which are compiled on their first call.
///
/// jq spends about 13 ms on its own definitions each time that it compiles a text, and much less on a program. So a
/// program is compiled together with its neighbours.
struct ProgramTable {
    private enum Limit {
        /// Programs in one text.
        static let together = 16
        /// Bytes of a program in a text with others, because they may never be called.
        static let size = 1024
    }

    private var sources: [ProgramSource] = []
    private var compiled: [Int: CompiledProgram] = [:]
    private var results: [Int: Result<CompiledProgram, JQCompileError>] = [:]
    /// Programs that do not compile with their neighbours.
    private var loners: Set<Int> = []

    var count: Int { sources.count }

    mutating func add(_ source: ProgramSource) { sources.append(source) }

    func texts(_ programs: Range<Int>) -> [[UInt8]] { sources[programs].map(\.text) }

    /// Nil before the first call.
    func called(_ index: Int) -> Result<CompiledProgram, JQCompileError>? { results[index] }

    /// Compiles a program that has not been called before, if that has not been done for one of its neighbours.
    mutating func call(_ index: Int, _ bindings: jv) -> Result<CompiledProgram, JQCompileError> {
        if compiled[index] == nil { compileNeighbours(of: index, bindings) }
        let result = compiled[index].map { .success($0) } ?? compileAlone(index, bindings)
        results[index] = result
        return result
    }

    private func compileAlone(_ index: Int, _ bindings: jv) -> Result<CompiledProgram, JQCompileError> {
        do throws(JQCompileError) { return .success(try CompiledProgram(sources[index], bindings)) } catch {
            return .failure(error)
        }
    }

    /// Compiles the program with those next to it, unless it must be alone, or they do not compile together.
    private mutating func compileNeighbours(of index: Int, _ bindings: jv) {
        let first = index - index % Limit.together
        let indexes = (first..<min(first + Limit.together, count)).filter(mayShare)
        guard indexes.count > 1, indexes.contains(index) else { return }
        do throws(JQCompileError) {
            let programs = try CompiledProgram.together(indexes.map { sources[$0] }, bindings)
            for (index, program) in zip(indexes, programs) { compiled[index] = program }
        } catch {
            loners.formUnion(indexes)
        }
    }

    /// Whether it is short, and does not read its own line number.
    private func mayShare(_ index: Int) -> Bool {
        !loners.contains(index) && sources[index].text.count <= Limit.size && !sources[index].contains("__loc__")
    }
}
