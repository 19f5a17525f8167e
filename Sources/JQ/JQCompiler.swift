/// Checks programs before they are used.
package enum JQCompiler {
    /// Compiles programs in a process of its own, in about 30 ms each. Blocks: only for the time when rule files are
    /// read.
    ///
    /// - Parameter variables: Names that the programs may use as `$NAME`, besides ``JQBinding/common``.
    /// - Returns: Nil for each program that compiles, else the first fault that jq reports.
    /// - Throws: The fault of the first program that could not be checked, most likely ``JQFault/notStarted(_:)``.
    package static func check(_ programs: [String], variables: [String] = []) throws(JQFault) -> [JQCompileFault?] {
        var settings = JQPool.Settings()
        settings.deadline = .seconds(30)
        let bindings = variables.map(JQBinding.init(nameOfNothing:))
        let conversation = Conversation(programs: JQPrograms(programs, bindings: bindings), settings: settings)
        var results: [JQCompileFault?] = []
        var failure: JQFault?
        let requests = programs.indices.map { JQRequest.check(program: $0) }
        let take = { (answer: JQAnswer) in
            switch answer {
            case .outputs: results.append(nil)
            case .failed(.notCompiled(let fault)): results.append(fault)
            case .failed(.crashed), .failed(.deadline):
                results.append(JQCompileFault(message: "jq crashes or hangs when it compiles the program"))
            case .failed(let fault): failure = failure ?? fault
            }
        }
        conversation.put(requests, stopping: { nil }, answer: take)
        if let failure { throw failure }
        return results
    }
}
