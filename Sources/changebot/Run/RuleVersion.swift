internal import Encodings
internal import Monitoring
internal import Rules

/// A set of rules that was loaded at once.
struct RuleVersion: Sendable {
    let source: RuleFileSet
    /// The rules for changes.
    let ruleSet: RuleSet
    /// The paths, as given.
    let paths: [String]
    /// Differs whenever anything about the rules differs.
    let fingerprint: String

    /// - Throws: `RuleFilesError`.
    init(_ source: RuleFileSet, paths: [String]) throws {
        self.source = source
        self.paths = paths
        ruleSet = try source.ruleSet(isForChanges: true)
        var parts = [ruleSet.hash]
        for scheduled in source.scheduled {
            parts += [scheduled.schedule.line, scheduled.schedule.zone, try source.ruleSet(only: scheduled.names).hash]
        }
        fingerprint = parts.joined(separator: " ")
    }

    var description: RuleSetDescription {
        RuleSetDescription(
            hash: ruleSet.hash, names: ruleSet.names, paths: paths, absolutePaths: paths.map(\.absolutePath))
    }

    /// The command-line options that select the same rules.
    var options: String { "--rules \(paths.map(\.absolutePath.shellWord).joined(separator: " "))" }

    /// The paths, and the files that the rules attach.
    var files: [String] { paths + source.attached.files }
}
