package import DocumentFlow
package import Logging
package import Rules

extension RuleFileSet {
    /// Reads the files that webhooks and downloads need, so that a run without one of them does not start.
    ///
    /// - Throws: `RunError` with `.badConfiguration` if a file is unusable.
    package func checkOutsideFiles(_ logger: Logger) throws(RunError) {
        try SecretContents(logger).check(outsideFiles, warns: false)
    }
}

extension RuleSet {
    /// Looks whether the files that webhooks and downloads need can be read, and those of `emit` be written. Creates
    /// none.
    ///
    /// - Throws: `RunError`: `.badConfiguration` or `.cannotCreate`.
    package func checkOutsideFiles(_ logger: Logger) throws(RunError) {
        try SecretContents(logger).check(outsideFiles, warns: false)
        if let problem = LineOutputs.problems(emitTargets).first { throw problem }
    }
}
