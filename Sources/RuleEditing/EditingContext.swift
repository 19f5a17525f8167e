package import LosslessJSON
package import Rules

/// What the texts of rule files in an editor have in common: the schema, and what is remembered between changes. Shared
/// by all tasks.
package final class EditingContext: Sendable {
    let schema: JSONText
    let attachments = AttachmentMemory()
    /// Warnings that need more than the rule files.
    let furtherWarnings: @Sendable (RuleFileSet) -> [RuleWarning]

    /// - Parameters:
    ///   - schema: The JSON Schema of rule files: `rule_file_schema`.
    ///   - furtherWarnings: Warnings about this machine, such as files of `emit` that can't be written.
    /// - Throws: ``JSONError`` if the schema is not JSON.
    package init(
        schema: [UInt8], furtherWarnings: @escaping @Sendable (RuleFileSet) -> [RuleWarning] = { _ in [] }
    ) throws(JSONError) {
        self.schema = try JSONText(schema)
        self.furtherWarnings = furtherWarnings
    }
}
