package import JQ

/// Rule files that were read together and found valid: what rule sets are made of, and what is checked and tested.
package struct RuleFileSet: Sendable {
    let files: [RuleFile]
    let programs: [String]

    /// Reads rule files, and what they attach, from disk. All or nothing. Blocks.
    ///
    /// - Parameter paths: Files, and folders whose `*.yaml`, `*.yml` and `*.json` are read, sorted by name.
    /// - Throws: ``RuleFilesError`` with everything that is wrong in any of the files.
    package static func load(paths: [String]) throws(RuleFilesError) -> RuleFileSet {
        var faults: [RuleFileFault] = []
        var kind = RuleFilesError.Kind.missing
        var files: [RuleFile] = []
        let shared = RuleReading.Shared()
        // A file may be named twice: by itself, and by its folder.
        var seen: Set<String> = []
        for path in paths {
            do throws(FileFault) {
                for path in try RulePath.files(at: path) where seen.insert(try FileBytes.realPath(path)).inserted {
                    let bytes = try FileBytes.read(path, limit: RuleFile.lengthLimit)
                    let file = RuleFile(path: path, bytes: bytes, shared: shared)
                    files.append(file)
                    faults += file.faults
                    if !file.faults.isEmpty { kind = .invalid }
                }
            } catch {
                faults.append(RuleFileFault(path: path, position: nil, message: error.description))
                if !error.isMissing { kind = .invalid }
            }
        }
        let inconsistent = shared.programs.compile() + duplicateNames(files.flatMap(\.rules))
        if !inconsistent.isEmpty { kind = .invalid }
        faults += inconsistent
        guard faults.isEmpty else { throw RuleFilesError(kind: kind, faults: faults) }
        return RuleFileSet(files: files, programs: shared.programs.texts)
    }

    /// The rules of all files as one set.
    ///
    /// - Parameters:
    ///   - names: Only these rules; nil for all.
    ///   - filter: Only for documents that it matches.
    /// - Throws: ``RuleFilesError`` if there is no rule of one of the names.
    package func ruleSet(
        only names: [String]? = nil, filter: DocumentFilter? = nil, jq settings: JQPool.Settings = JQPool.Settings()
    ) throws(RuleFilesError) -> RuleSet {
        let rules = files.flatMap(\.rules)
        guard let names else { return RuleSet(rules, programs: programs, filter: filter, jq: settings) }
        let known = rules.map(\.name)
        let unknown = names.filter { !known.contains($0) }
        guard unknown.isEmpty else {
            let faults = unknown.map { name in
                let guess = NearestName.of(name, among: known).map { ": did you mean '\($0)'?" } ?? ";"
                return RuleFileFault(
                    path: "--rule", position: nil,
                    message: "there is no rule '\(name)'\(guess) Rules: \(known.joined(separator: ", "))")
            }
            throw RuleFilesError(kind: .unknownRule, faults: faults)
        }
        return RuleSet(
            rules.filter { names.contains($0.name) }, programs: programs, filter: filter, jq: settings)
    }

    package var fileCount: Int { files.count }
    package var testCount: Int { files.reduce(0) { $0 + $1.tests.count } }
    package var ruleCount: Int { files.reduce(0) { $0 + $1.rules.count } }

    private static func duplicateNames(_ rules: [Rule]) -> [RuleFileFault] {
        var first: [String: Rule] = [:]
        var faults: [RuleFileFault] = []
        for rule in rules {
            if let other = first[rule.name] {
                faults.append(
                    RuleFileFault(
                        path: rule.path, position: rule.position,
                        message: "another rule is named '\(rule.name)' (\(other.path):\(other.position.line)); "
                            + "rename one, names are unique over all files"))
            } else {
                first[rule.name] = rule
            }
        }
        return faults
    }
}

extension FileFault {
    /// The file is not there, or not for us: exit code 66 where it was named on the command line.
    fileprivate var isMissing: Bool {
        switch self {
        case .missing, .unreadable: true
        case .isFolder, .notAFile, .notAFolder, .outside, .tooLarge: false
        }
    }
}
