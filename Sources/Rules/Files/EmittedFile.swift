/// A file that a rule emits lines to, with its place in the rule file.
package struct EmittedFile: Sendable {
    package let target: EmitTarget
    /// The path of the rule file as given.
    let rulePath: String
    let position: SourcePosition
    /// The name of the rule.
    let rule: String
    /// The warnings that the rule accepts.
    let allowed: Set<RuleWarning.Code>

    /// The path of the file, relative to the working folder.
    package var path: String { target.path }

    /// `PATH:LINE:COLUMN` of the rule file.
    package var place: String { "\(rulePath):\(position.line):\(position.column)" }

    /// A warning that it can't be written. Nil if the rule accepts it.
    ///
    /// - Parameter message: Why, and what to do.
    package func warning(_ message: String) -> RuleWarning? {
        allowed.contains(.emitFile)
            ? nil : RuleWarning(path: rulePath, position: position, rule: rule, code: .emitFile, message: message)
    }
}

extension Rule {
    /// The files of its `emit` actions, in order.
    var emittedFiles: [EmittedFile] {
        locatedSteps.compactMap { placed in
            guard let emit = placed.step.action as? EmitAction, emit.target != .standardOutput else { return nil }
            return EmittedFile(
                target: emit.target, rulePath: definition.path,
                position: placed.argument.member("file")?.position ?? placed.element.position, rule: name,
                allowed: acceptedCodes)
        }
    }
}

extension RuleSet {
    /// The files of its `emit` actions, once for each action.
    package var emittedFiles: [EmittedFile] { rules.flatMap(\.emittedFiles) }
}

extension RuleFileSet {
    /// The files of all `emit` actions, once for each action.
    package var emittedFiles: [EmittedFile] { files.flatMap(\.rules).flatMap(\.emittedFiles) }

    /// Errors for `emit` actions that would write to a file that the rules read: a rule file, or a file that rules
    /// attach.
    ///
    /// - Parameter paths: The given files and folders of rules.
    func emitErrors(_ paths: [String]) -> [RuleFileError] {
        let emitted = emittedFiles
        guard !emitted.isEmpty else { return [] }
        let attached = Set(attached.files.map(RulePath.resolved))
        let folders = self.attached.folders.map { (name: $0, path: RulePath.resolved($0)) }.sorted { $0.name < $1.name }
        let ruleFiles = Set(files.map { RulePath.resolved($0.path) })
        let ruleFolders = Set(paths.filter { (try? FileBytes.kind(of: $0)) == .folder }.map(RulePath.resolved))
        return emitted.compactMap { file in
            let path = RulePath.resolved(file.path)
            let problem: String
            if let folder = folders.first(where: { RulePath.isInside(path, $0.path) }) {
                problem = "is inside \(folder.name), from which a rule attaches files"
            } else if attached.contains(path) {
                problem = "is a file that a rule attaches"
            } else if ruleFiles.contains(path) {
                problem = "is a rule file"
            } else if RulePath.isRuleFile(path), ruleFolders.contains(RulePath.folder(of: path) ?? "") {
                problem = "would be read as a rule file"
            } else {
                return nil
            }
            return RuleFileError(
                path: file.rulePath, position: file.position,
                message: "'emit' can't write to \(DisplayText.plain(file.path, limit: 200)), which \(problem); choose "
                    + "another path")
        }
    }
}
