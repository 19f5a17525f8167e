/// Checks programs before they are used.
package enum JQCompiler {
    /// Compiles programs in a process of its own, in about 30 ms each. Blocks: only for the time when rule files are
    /// read.
    ///
    /// - Parameter variables: Names that the programs may use as `$NAME`, besides ``JQBinding/common``.
    /// - Returns: Nil for each program that compiles, else the first error that jq reports.
    /// - Throws: The error of the first program that could not be checked, most likely ``JQError/notStarted(_:)``.
    package static func check(_ programs: [String], variables: [String] = []) throws(JQError) -> [JQCompileError?] {
        var settings = JQPool.Settings()
        settings.deadline = .seconds(30)
        let bindings = variables.map(JQBinding.init(nameOfNothing:))
        let conversation = Conversation(programs: JQPrograms(programs, bindings: bindings), settings: settings)
        var results: [JQCompileError?] = []
        var failure: JQError?
        let requests = programs.indices.map { JQRequest.check(program: $0) }
        let take = { (answer: JQAnswer) in
            switch answer {
            case .outputs: results.append(nil)
            case .failed(.notCompiled(let error)): results.append(error)
            case .failed(.crashed), .failed(.deadline):
                results.append(JQCompileError(message: "jq crashes or hangs when it compiles the program"))
            case .failed(let error): failure = failure ?? error
            }
        }
        conversation.put(requests, stopping: { nil }, answer: take)
        if let failure { throw failure }
        return results
    }
}
