package import DocumentFlow
package import Logging
package import Rules

extension RuleFileSet {
    /// Reads the files that webhooks and downloads need, so that a run which would lack one does not start.
    ///
    /// - Throws: `RunError` with `.badConfiguration` if one can't be used.
    package func checkOutsideFiles(_ logger: Logger) throws(RunError) {
        try SecretContents(logger).check(outsideFiles, warns: false)
    }
}
