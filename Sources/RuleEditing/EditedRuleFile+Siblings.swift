internal import Rules

// Other rule files, which are loaded together with this one.

extension EditedRuleFile {
    /// At most this many files are looked at.
    private static let siblingLimit = 100

    /// The paths of the other files.
    private var siblings: [String] {
        switch companions {
        case .files(let paths): return Array(paths.filter { $0 != path }.prefix(Self.siblingLimit))
        case .folder:
            let folder = RulePath.folder(of: path)
            let own = RulePath.join(folder, path.split(separator: "/").last.map(String.init) ?? path)
            let names = (try? FileBytes.names(inFolder: folder ?? ".")) ?? []
            let paths = names.lazy.filter { RulePath.isRuleFile($0) && !$0.hasPrefix(".") }
                .map { RulePath.join(folder, $0) }
            return Array(paths.filter { $0 != own }.prefix(Self.siblingLimit))
        }
    }

    /// A warning for each rule whose name a rule of another file has.
    var clashes: [EditorDiagnostic] {
        guard isOnDisk, !outline.isMapping(lines.bytes) else { return [] }
        var others: [String: (path: String, line: Int)] = [:]
        for path in siblings {
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
