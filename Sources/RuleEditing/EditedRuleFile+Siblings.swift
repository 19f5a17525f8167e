internal import Rules

// Other rule files of the same folder, which are usually loaded together with this one.

extension EditedRuleFile {
    /// At most this many files are looked at.
    private static let siblingLimit = 100

    /// A warning for each rule whose name a rule of another file in the folder has.
    var clashes: [EditorDiagnostic] {
        guard isOnDisk, !outline.isMapping(lines.bytes) else { return [] }
        let folder = RulePath.folder(of: path)
        guard let names = try? FileBytes.names(inFolder: folder ?? ".") else { return [] }
        let own = RulePath.join(folder, path.split(separator: "/").last.map(String.init) ?? path)
        let paths = names.lazy.filter { RulePath.isRuleFile($0) && !$0.hasPrefix(".") }.map {
            RulePath.join(folder, $0)
        }
        .filter { $0 != own }.prefix(Self.siblingLimit)
        var others: [String: (path: String, line: Int)] = [:]
        for path in paths {
            for rule in context.ruleNames(inFile: path) where others[rule.name] == nil {
                others[rule.name] = (path, rule.line)
            }
        }
        return ruleNames.compactMap { rule in
            others[rule.name].map { other in
                EditorDiagnostic(
                    range: lines.range(outline[rule.node].range), severity: .warning,
                    message:
                        "another rule is named '\(rule.name)' (\(other.path):\(other.line)); rename one: names must "
                        + "be unique across all files that are used together")
            }
        }
    }
}
