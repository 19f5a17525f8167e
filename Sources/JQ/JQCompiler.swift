/// Checks programs before they are used.
package enum JQCompiler {
    /// The most programs that are compiled together: jq's time for one text grows faster than the text.
    private static let mostTogether = 64

    /// Compiles programs in a process of its own. Blocks: only for the time when rule files are read.
    ///
    /// jq takes about 20 ms for its own definitions each time that it compiles something. So programs are compiled
    /// together, about 60 ms for each `mostTogether`; only where that fails, ever smaller parts of them, down to one,
    /// whose message then is about its own text.
    ///
    /// - Parameter variables: Names that the programs may use as `$NAME`, besides ``JQBinding/common``.
    /// - Returns: Nil for each program that compiles, else the first error that jq reports.
    /// - Throws: The error of the first program that could not be checked, most likely ``JQError/notStarted(_:)``.
    package static func check(_ programs: [String], variables: [String] = []) throws(JQError) -> [JQCompileError?] {
        var settings = JQPool.Settings()
        settings.deadline = .seconds(30)
        let bindings = variables.map(JQBinding.init(nameOfNothing:))
        let conversation = Conversation(
            programs: JQPrograms(programs.map { JQProgram($0) }, bindings: bindings), settings: settings)
        var results = [JQCompileError?](repeating: nil, count: programs.count)
        var left = stride(from: 0, to: programs.count, by: mostTogether).map {
            $0..<min($0 + mostTogether, programs.count)
        }
        while let part = left.popLast() {
            var failure: JQError?
            let take = { (answer: TimedAnswer) in
                if case .failed(let error) = answer.answer { failure = error }
            }
            conversation.put([.check(programs: part)], stopping: { nil }, answer: take)
            switch failure {
            case nil: continue
            case .notCompiled?, .crashed?, .killed?, .processError?, .brokeDown?, .deadline?:
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
