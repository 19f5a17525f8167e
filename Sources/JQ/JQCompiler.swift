/// Checks programs before they are used.
package enum JQCompiler {
    /// The maximum number of programs that are compiled together: jq's compile time grows faster than the text.
    private static let compiledTogetherLimit = 64

    /// Compiles programs in a separate process. Blocks, so use it only while reading rule files.
    ///
    /// jq takes about 20 ms for its own definitions each time that it compiles a text. Programs are therefore compiled
    /// together, about 60 ms for each `compiledTogetherLimit`. Only if that fails, smaller and smaller parts are
    /// compiled, down to a single program, so that the error refers to its own text.
    ///
    /// - Parameter variables: Names that the programs may use as `$NAME`, in addition to ``JQBinding/common``.
    /// - Returns: For each program the first error that jq reports. Nil if it compiles.
    /// - Throws: The error of the first program that could not be checked, most likely ``JQError/notStarted(_:)``.
    package static func check(_ programs: [String], variables: [String] = []) throws(JQError) -> [JQCompileError?] {
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
            return JQCompileError(message: "jq crashes or hangs when it compiles the program")
        }
        return error
    }
}
