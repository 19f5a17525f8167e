package import Rules

/// What an editor needs to know of a rule file. Its text may not be saved, and may be invalid.
///
/// Makes no changes. Diagnostics block while jq compiles new programs; the rest takes the time that it takes to read the
/// text.
package struct EditedRuleFile: Sendable {
    /// The largest text for which rules are compared with each other, in bytes.
    static let comparedLength = 1 << 20
    /// The maximum number of rules that are compared with each other: each pair is.
    static let comparedRules = 2000
    /// The largest text whose outline is read, in bytes. Without it, there are only errors.
    static let outlinedLength = 8 << 20

    package let path: String
    /// The bytes of the text, and its positions.
    package let lines: TextLines
    /// Whether the path is one of this machine, so that the rules can attach files.
    package let isOnDisk: Bool
    let companions: Companions
    let context: EditingContext
    let outline: Outline

    /// The other rule files that are used together with this one, so that the names of their rules must differ.
    package enum Companions: Sendable {
        /// Those of the same folder.
        case folder
        /// These paths. The file itself may be among them.
        case files([String])
    }

    /// - Parameters:
    ///   - path: Attached files are found relative to it. `.json` is read as JSON, everything else as YAML.
    ///   - columns: What the editor counts as a column, in all positions.
    ///   - isOnDisk: False for a text without a path. Its rules attach nothing.
    ///   - companions: The other files of the rule set. Default: those of the same folder.
    package init(
        path: String, text: String, columns: ColumnUnit = .utf16, isOnDisk: Bool = true,
        with companions: Companions = .folder, in context: EditingContext
    ) {
        self.path = path
        self.companions = companions
        self.isOnDisk = isOnDisk
        self.context = context
        let isJSON = path.hasSuffix(".json")
        let bytes = Array(text.utf8)
        lines = TextLines(bytes, unit: columns, isJSON: isJSON)
        outline = bytes.count <= Self.outlinedLength ? OutlineReader(bytes, isJSON: isJSON).outline : Outline()
    }

    /// The rules as far as they are valid, and the errors. Blocks while jq compiles new programs.
    package func read() -> (rules: RuleFileSet, errors: [RuleFileError]) {
        let result = RuleFileSet.read(
            path: path, bytes: lines.bytes, attachments: isOnDisk ? .disk(context.attachments) : .nowhere)
        return (result.set, result.errors)
    }
}
