package import DocumentFlow
package import Logging
package import Rules

extension RuleSet {
    /// Reads the files that its webhooks need, so that a run which would lack one does not start.
    ///
    /// - Throws: `RunError` with `.badConfiguration` if one can't be used.
    package func checkWebhookFiles(_ logger: Logger) throws(RunError) {
        try WebhookFiles(logger).check(webhookAccesses, warns: false)
    }
}
