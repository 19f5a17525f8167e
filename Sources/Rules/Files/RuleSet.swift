internal import LosslessJSON

/// All rules of a run, in their order. Immutable: any number of tasks decide with it, each with its own ``Decider``.
package final class RuleSet: Sendable {
    let rules: [Rule]
    let index: RuleIndex

    /// SHA-256, in hexadecimal, of all that the rules' decisions depend on, attached files included. Comments,
    /// formatting, key order and the files' names and places do not change it.
    package let hash: String

    init(_ rules: [Rule]) {
        self.rules = rules
        index = RuleIndex(rules)
        var writer = JSONWriter()
        writer.array { writer in for rule in rules { writer.raw(rule.canonical) } }
        hash = Digest.sha256.hex(writer.bytes)
    }

    package var count: Int { rules.count }

    /// The rules' names, unique. A rule's place in this list is its index in a ``Decision``.
    package var names: [String] { rules.map(\.name) }

    /// What a task decides with. Not to be shared between tasks.
    package func makeDecider() -> Decider { Decider(self) }
}

extension RuleSet {
    /// Reads rule files, and what they attach, from disk. All or nothing.
    ///
    /// - Parameter paths: Files, and folders whose `*.yaml`, `*.yml` and `*.json` are read, sorted by name.
    /// - Throws: ``RuleFilesError`` with everything that is wrong in any of the files.
    package static func load(paths: [String]) throws(RuleFilesError) -> RuleSet {
        var faults: [RuleFileFault] = []
        var kind = RuleFilesError.Kind.missing
        var files: [RuleFile] = []
        let shared = AttachmentFiles.Shared()
        for path in paths {
            do throws(FileFault) {
                for path in try RulePath.files(at: path) {
                    let bytes = try FileBytes.read(path, limit: JSONLimits.files.length)
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
        let (rules, duplicates) = unique(files.flatMap(\.entries))
        if !duplicates.isEmpty { kind = .invalid }
        faults += duplicates
        guard faults.isEmpty else { throw RuleFilesError(kind: kind, faults: faults) }
        return RuleSet(rules)
    }

    private static func unique(_ entries: [RuleFile.Entry]) -> ([Rule], [RuleFileFault]) {
        var first: [String: RuleFile.Entry] = [:]
        var faults: [RuleFileFault] = []
        for entry in entries {
            let name = entry.rule.name
            if let other = first[name] {
                faults.append(
                    RuleFileFault(
                        path: entry.path, position: entry.position,
                        message: "another rule is named '\(name)' (\(other.path):\(other.position.line)); "
                            + "rename one, names are unique over all files"))
            } else {
                first[name] = entry
            }
        }
        return (entries.map(\.rule), faults)
    }
}

extension FileFault {
    /// The file is not there, or not for us: exit code 66 where it was named on the command line.
    fileprivate var isMissing: Bool {
        switch self {
        case .missing, .unreadable: true
        case .isFolder, .notAFile, .tooLarge: false
        }
    }
}
