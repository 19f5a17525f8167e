internal import Pipeline

extension DistinctFiles {
    /// What commands read that talk to a gateway: certificates, passwords, and the file of an embedded gateway.
    mutating func read(_ access: AccessOptions, _ choice: GatewayChoice?, _ environment: Environment) {
        inputs += [
            ("--ca-file", access.caFile ?? environment["ca-file"]),
            ("CHANGEBOT_PASSWORD_FILE", environment.variable("CHANGEBOT_PASSWORD_FILE")),
        ]
        if case .embedded(let file?)? = choice { inputs += Self.database(file, "the embedded gateway") }
    }

    /// A database with what SQLite puts beside it.
    private static func database(_ file: String, _ name: String) -> [Named] {
        ["", "-wal", "-shm", "-journal"].map { (name, file + $0) }
    }
}

extension JobOptions {
    /// Looks at the files of a run by rules before it begins.
    ///
    /// - Throws: ``CommandFailure`` with 64 if the summary would overwrite what the run reads, with 73 if it can't be
    ///   written.
    func checkFiles(
        rules: [String], _ gateway: GatewayOptions, _ choice: GatewayChoice, state directory: String,
        _ environment: Environment
    ) throws(CommandFailure) {
        guard let summary = common.summaryPath(environment) else { return }
        var files = DistinctFiles(outputs: [("--summary", summary)])
        files.read(rules: rules, "--rules")
        files.read(gateway.access, choice, environment)
        files.read(state: directory)
        try files.check()
        try OutputFile.check(summary)
    }
}
