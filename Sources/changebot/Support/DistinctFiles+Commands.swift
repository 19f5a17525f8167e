internal import DocumentFlow
internal import Logging
internal import Rules

extension DistinctFiles {
    /// Adds the files that a command with a gateway reads: certificate, password, and the database of an embedded
    /// gateway.
    mutating func read(_ access: AccessOptions, _ choice: GatewayChoice?, _ environment: Environment) {
        inputs += [
            ("--ca-file", access.caFile ?? environment["ca-file"]),
            (environment.naming("password-file"), environment["password-file"]),
            (environment.naming("token-file"), environment["token-file"]),
        ]
        if case .embedded(let file?)? = choice { inputs += Self.database(file, "the embedded gateway") }
    }

    mutating func read(_ attached: AttachedPaths) {
        inputs += attached.files.map { ("a file that a rule attaches", $0) }
        for folder in attached.folders { read(tree: folder, "a rule's attachments") }
    }

    /// A database and the files that SQLite keeps beside it.
    private static func database(_ file: String, _ name: String) -> [Named] {
        ["", "-wal", "-shm", "-journal"].map { (name, file + $0) }
    }
}

extension JobOptions {
    /// Reads the rules of a run, after checking all its files.
    ///
    /// - Parameter load: Reads rule files. Default: from disk.
    /// - Throws: `RuleFilesError`; ``CommandError`` with 64 if the summary would overwrite an input, 73 if the
    ///   summary can't be written.
    func loadRules(
        _ paths: [String], _ common: CommonJobOptions, _ access: AccessOptions, _ choice: GatewayChoice,
        state directory: String, _ environment: Environment, _ logger: Logger,
        load: ([String]) throws -> RuleFileSet = { try RuleFileSet.load(paths: $0) }
    ) throws -> RuleFileSet {
        var files = DistinctFiles(outputs: [("--summary", common.summaryPath(environment))])
        files.read(rules: paths, "--rules")
        files.read(access, choice, environment)
        files.inputs.append(("--config", environment.configurationPath))
        files.read(state: directory)
        try environment.checking("summary", isFlag: common.summary != nil) { () throws(CommandError) in
            try files.check()
        }
        let ruleFiles = try load(paths)
        files.read(ruleFiles.attached)
        files.outputs += ruleFiles.emittedFiles.map { ("the file of a rule's emit", $0) }
        try files.check()
        if let summary = common.summaryPath(environment) { try OutputFile.check(summary) }
        for slip in ruleFiles.likelyTypos() {
            var metadata: Logger.Metadata = [
                LogKey.file: "\(slip.path):\(slip.position.line):\(slip.position.column)",
                LogKey.reason: "\(slip.message)",
            ]
            if let rule = slip.rule { metadata["rule"] = "\(rule)" }
            logger.warning(
                slip.rule == nil
                    ? "a rule file looks incomplete"
                    : "a rule looks misspelt; 'changebot rules check' shows all warnings", metadata: metadata)
        }
        return ruleFiles
    }
}
