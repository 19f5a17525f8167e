package import DocumentFlow
package import Logging
package import Rules

extension RuleFileSet {
    /// Reads the files that webhooks and downloads need, so that a run does not start without them.
    ///
    /// - Throws: `RunError` with `.badConfiguration` if a file is unusable.
    package func checkOutsideFiles(_ logger: Logger) throws(RunError) {
        try SecretContents(logger).check(outsideFiles, warns: false)
    }

    /// A warning for each file of `emit` that can't be written here. Creates no files.
    package func emitWarnings() -> [RuleWarning] {
        LineOutputs.problems(emittedFiles).compactMap { $0.file.warning($0.error.description) }
    }
}

extension RuleSet {
    /// Checks that the files of webhooks and downloads can be read and the files of `emit` can be written. Creates no
    /// files.
    ///
    /// - Throws: `RunError`: `.badConfiguration` or `.cannotCreate`.
    package func checkOutsideFiles(_ logger: Logger) throws(RunError) {
        try SecretContents(logger).check(outsideFiles, warns: false)
        if let problem = LineOutputs.problems(emittedFiles).first {
            throw RunError(problem.error.code, "\(problem.file.place): \(problem.error)")
        }
    }
}
