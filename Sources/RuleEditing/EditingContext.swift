internal import Locking
package import LosslessJSON
package import Rules

/// What the texts of rule files in an editor have in common: the schema, and what is remembered between changes. Shared
/// by all tasks.
package final class EditingContext: Sendable {
    let schema: JSONText
    let attachments = AttachmentMemory()
    /// Warnings that need more than the rule files.
    let furtherWarnings: @Sendable (RuleFileSet) -> [RuleWarning]

    private struct Names {
        let version: FileVersion
        let rules: [(name: String, line: Int)]
    }

    /// The rules of other files, by path.
    private let names = Locked<[String: Names]>([:])

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

    /// The rules of a file on disk, with their lines from 1. Empty if it is a mapping, or can't be read. The file is read
    /// again only after it has changed.
    func ruleNames(inFile path: String) -> [(name: String, line: Int)] {
        guard let version = try? FileBytes.version(of: path), version.size <= EditedRuleFile.comparedLength else {
            return []
        }
        if let known = names.withLock({ $0[path] }), known.version == version { return known.rules }
        let bytes = (try? FileBytes.read(path, limit: EditedRuleFile.comparedLength)) ?? []
        let file = EditedRuleFile(path: path, text: String(decoding: bytes, as: UTF8.self), in: self)
        let isMapping = file.outline.isMapping(file.lines.bytes)
        let rules =
            isMapping ? [] : file.ruleNames.map { ($0.name, file.lines.line(at: file.outline[$0.node].origin) + 1) }
        names.withLock { $0[path] = Names(version: version, rules: rules) }
        return rules
    }
}
