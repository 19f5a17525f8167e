package import JQ

/// Valid rule files that were read together: the source of rule sets, checks and tests.
package struct RuleFileSet: Sendable {
    let files: [RuleFile]
    let programs: [JQProgram]
    /// The files that the rules attach.
    package let attached: AttachedPaths

    /// No rules.
    package static let empty = RuleFileSet(
        files: [], programs: [], attached: AttachedPaths(files: [], attachedFiles: [], folders: []))

    /// Reads rule files and the files that they attach from disk. Reads everything or throws. Blocks.
    ///
    /// - Parameters:
    ///   - paths: Files and folders. In folders, `*.yaml`, `*.yml` and `*.json` are read, sorted by name.
    ///   - kind: The required kind. Nil: any.
    /// - Throws: ``RuleFilesError`` with all errors of all files.
    package static func load(
        paths: [String], kind: RuleFileKind? = .rules
    ) throws(RuleFilesError) -> RuleFileSet {
        var errors: [RuleFileError] = []
        var errorKind = RuleFilesError.Kind.missing
        var files: [RuleFile] = []
        let shared = RuleReading.Shared()
        // A file may be given twice: directly and by its folder.
        var seen: Set<ExactString> = []
        for path in paths {
            do throws(FileError) {
                for path in try RulePath.files(at: path)
                where seen.insert(ExactString(try FileBytes.realPath(path))).inserted {
                    let bytes = try FileBytes.read(path, limit: RuleFile.lengthLimit)
                    let file = RuleFile(path: path, bytes: bytes, shared: shared)
                    let faultsOfFile = file.errors + file.errors(unless: kind)
                    files.append(file)
                    errors += faultsOfFile
                    if !faultsOfFile.isEmpty { errorKind = .invalid }
                }
            } catch {
                errors.append(RuleFileError(path: error.path, position: nil, message: error.message))
                if !error.isMissing { errorKind = .invalid }
            }
        }
        let (set, clashes) = combine(files, shared, paths)
        if !clashes.isEmpty { errorKind = .invalid }
        errors += clashes
        guard errors.isEmpty else { throw RuleFilesError(kind: errorKind, errors: inOrder(errors, files.map(\.path))) }
        return set
    }

    /// The set of files that were read, and the errors that only appear when they are together, with their programs.
    ///
    /// - Parameter paths: The given files and folders of rules.
    static func combine(
        _ files: [RuleFile], _ shared: RuleReading.Shared, _ paths: [String]
    ) -> (set: RuleFileSet, errors: [RuleFileError]) {
        let inconsistent = shared.programs.compile() + duplicateNames(shared.names)
        let set = RuleFileSet(files: files, programs: shared.programs.all, attached: shared.attachments.paths)
        return (set, inconsistent + set.emitErrors(paths))
    }

    /// Combines the rules of all files into one set.
    ///
    /// - Parameters:
    ///   - names: Only these rules. Nil: all.
    ///   - filter: Restricts the rules to documents that it matches.
    ///   - slurps: For mappings: a JSON list for each `$NAME`.
    ///   - isForChanges: Whether to omit the rules of files with `every`.
    /// - Throws: ``RuleFilesError`` if a rule of `names` does not exist, a name of `slurps` is missing or unknown, or
    ///   only some of the files are mappings.
    package func ruleSet(
        only names: [String]? = nil, filter: DocumentFilter? = nil, slurps: [String: [UInt8]] = [:],
        isForChanges: Bool = false, jq settings: JQPool.Settings = JQPool.Settings()
    ) throws(RuleFilesError) -> RuleSet {
        let kind = files.first?.kind ?? .rules
        let wrongKind = files.flatMap { $0.errors(unless: kind) }
        guard wrongKind.isEmpty else { throw RuleFilesError(kind: .invalid, errors: wrongKind) }
        let bindings = try bindings(slurps)
        let otherwise = try otherwise()
        let make = { (rules: [Rule]) in
            RuleSet(
                rules, kind: kind, otherwise: otherwise, programs: programs, bindings: bindings, filter: filter,
                isPartial: names != nil || filter != nil, jq: settings)
        }
        let rules = files.filter { !isForChanges || $0.schedule == nil }.flatMap(\.rules)
        guard let names else { return make(rules) }
        try require(names)
        return make(rules.filter { names.contains($0.name) })
    }

    /// Checks that rules of these names exist.
    ///
    /// - Throws: ``RuleFilesError`` if a name is unknown.
    package func require(_ names: [String]?) throws(RuleFilesError) {
        let known = files.flatMap(\.rules).map(\.name)
        let unknown = (names ?? []).filter { !known.contains($0) }
        guard unknown.isEmpty else {
            let errors = unknown.map { name in
                RuleFileError(
                    path: "--rule", position: nil,
                    message: "there is no rule '\(name)'"
                        + NearestName.advice(
                            NearestName.ofOwn(name, among: known), among: known, as: "rules", isWhole: false))
            }
            throw RuleFilesError(kind: .usage, errors: errors)
        }
    }

    /// The targets of the rules' `emit` actions, in all files.
    package var emitTargets: Set<EmitTarget> { RuleSet.emitTargets(files.flatMap(\.rules)) }

    /// The number of distinct files that were read.
    package var fileCount: Int { files.count }
    /// The number of tests in all files.
    package var testCount: Int { files.reduce(0) { $0 + $1.tests.count } }
    /// The names of the rules of all files, in order.
    package var ruleNames: [String] { files.flatMap(\.rules).map(\.name) }
    /// The number of rules in all files.
    package var ruleCount: Int { files.reduce(0) { $0 + $1.rules.count } }

    /// Sorts errors by file, in reading order, and by position.
    static func inOrder(_ errors: [RuleFileError], _ files: [String]) -> [RuleFileError] {
        let places = Dictionary(zip(files, files.indices)) { first, _ in first }
        func key(_ error: RuleFileError) -> (Int, Int, Int) {
            // Unreadable files come last.
            (places[error.path] ?? files.count, error.position?.line ?? 0, error.position?.column ?? 0)
        }
        return errors.sorted { key($0) < key($1) }
    }

    private static func duplicateNames(_ rules: [RuleName]) -> [RuleFileError] {
        var first: [String: RuleName] = [:]
        var errors: [RuleFileError] = []
        for rule in rules {
            if let other = first[rule.text] {
                errors.append(
                    RuleFileError(
                        path: rule.path, position: rule.position,
                        message: "another rule is named '\(rule.text)' (\(other.path):\(other.position.line)); "
                            + "rename one: names must be unique across all files"))
            } else {
                first[rule.text] = rule
            }
        }
        return errors
    }
}

extension RuleFile {
    /// An error if the file is not of the required kind.
    fileprivate func errors(unless wanted: RuleFileKind?) -> [RuleFileError] {
        guard let wanted, wanted != kind, isReadable else { return [] }
        return [RuleFileError(path: path, position: kindPosition, message: kind.refusal)]
    }
}

extension FileError {
    /// Whether the file is missing or not readable: exit code 66 if it was given on the command line.
    fileprivate var isMissing: Bool {
        switch self {
        case .missing, .unreadable, .noRuleFiles, .pattern: true
        case .isFolder, .notAFile, .notAFolder, .outside, .tooLarge: false
        }
    }
}
