internal import Locking

/// Checks programs before they are used.
package enum JQCompiler {
    /// The maximum number of programs that are compiled together: jq's compile time grows faster than the text.
    private static let compiledTogetherLimit = 64

    /// What is known of programs, with their variables, so that rules which are loaded again need no process. Nil: it
    /// compiles.
    private static let compiled = Locked<[JQProgram: JQCompileError?]>([:])
    /// Above it, all are forgotten.
    private static let rememberedLimit = 1000

    /// Compiles the programs that have not been compiled before. Blocks, so use it only while reading rule files.
    ///
    /// - Parameter variables: Names that the programs may use as `$NAME`, in addition to ``JQBinding/common``.
    /// - Returns: For each program the first error that jq reports. Nil if it compiles.
    /// - Throws: The error of the first program that could not be checked, most likely ``JQError/notStarted(_:)``.
    package static func check(_ programs: [String], variables: [String] = []) throws(JQError) -> [JQCompileError?] {
        let keys = programs.map { JQProgram($0, locals: variables) }
        let known = compiled.withLock { compiled in keys.map { compiled[$0] } }
        let new = keys.indices.filter { known[$0] == nil }
        var results = known.map { $0 ?? nil }
        guard !new.isEmpty else { return results }
        for (index, error) in zip(new, try compile(new.map { programs[$0] }, variables)) { results[index] = error }
        compiled.withLock { compiled in
            if compiled.count > rememberedLimit { compiled = [:] }
            // Whether jq crashes or hangs may depend on the machine's memory and load.
            for index in new where results[index]?.message != unknown { compiled[keys[index]] = .some(results[index]) }
        }
        return results
    }

    /// The message about a program for which jq gives no answer.
    private static let unknown = "jq crashes or hangs when it compiles the program"

    /// Compiles programs in a separate process.
    ///
    /// jq takes 13 ms for its own definitions each time that it compiles a text. Programs are therefore compiled
    /// together, about 60 ms for each `compiledTogetherLimit`. Only if that fails, smaller and smaller parts are
    /// compiled, down to a single program, so that the error refers to its own text.
    ///
    /// Parameters and results are those of ``check(_:variables:)``.
    static func compile(_ programs: [String], _ variables: [String] = []) throws(JQError) -> [JQCompileError?] {
        var settings = JQPool.Settings()
        settings.deadline = .seconds(30)
        let bindings = variables.map(JQBinding.init(emptyListNamed:))
        let conversation = Conversation(
            programs: JQPrograms(programs.map { JQProgram($0) }, bindings: bindings), settings: settings)
        var results = [JQCompileError?](repeating: nil, count: programs.count)
        var left = stride(from: 0, to: programs.count, by: compiledTogetherLimit).map {
            $0..<min($0 + compiledTogetherLimit, programs.count)
        }
        while let part = left.popLast() {
            var failure: JQError?
            let take = { (answer: TimedAnswer) in
                if case .failed(let error) = answer.answer { failure = error }
            }
            conversation.put([.check(programs: part)], stopping: { nil }, answer: take)
            switch failure {
            case nil: continue
            case .notCompiled?, .crashed?, .killed?, .processError?, .aborted?, .deadline?:
                guard part.count == 1 else {
                    let middle = part.lowerBound + part.count / 2
                    left += [middle..<part.upperBound, part.lowerBound..<middle]
                    continue
                }
                results[part.lowerBound] = compileError(failure)
            case let error?: throw error
            }
        }
        return results
    }

    private static func compileError(_ failure: JQError?) -> JQCompileError {
        guard case .notCompiled(let error) = failure else {
            return JQCompileError(message: unknown)
        }
        return error
    }
}
