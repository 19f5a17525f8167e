internal import Rules

extension DistinctFiles {
    /// Adds the files that a command with a gateway reads: certificate, password, and the database of an embedded
    /// gateway.
    mutating func read(_ access: AccessOptions, _ choice: GatewayChoice?, _ environment: Environment) {
        inputs += [
            ("--ca-file", access.caFile ?? environment["ca-file"]),
            ("--certificate-file", access.certificateFile ?? environment["certificate-file"]),
            ("--key-file", access.keyFile ?? environment["key-file"]),
            (environment.naming("password-file"), environment["password-file"]),
            (environment.naming("token-file"), environment["token-file"]),
            (environment.naming("client-secret-file"), environment["client-secret-file"]),
            (environment.naming("api-key-file"), environment["api-key-file"]),
            (environment.naming("token-ca-file"), environment["token-ca-file"]),
        ]
        if case .embedded(let file?)? = choice { inputs += Self.database(file, "the embedded gateway") }
    }

    mutating func read(_ attached: AttachedPaths) {
        inputs += attached.files.map { ("a file that a rule attaches", $0) }
        for folder in attached.folders { read(tree: folder, "a rule's attachments") }
    }

    /// Checks the files of `emit` too, one by one, because several rules may share a file.
    ///
    /// - Throws: ``CommandError`` with 64, with the place in the rule file.
    func check(_ emitted: [EmittedFile]) throws(CommandError) {
        try check()
        for file in emitted {
            var files = self
            files.outputs.append(("the file of a rule's emit", file.path))
            do throws(CommandError) { try files.check() } catch {
                throw CommandError(error.code, listing: error.messages.map { "\(file.place): \($0)" })
            }
        }
    }

    /// A database and the files that SQLite keeps next to it.
    private static func database(_ file: String, _ name: String) -> [NamedFile] {
        ["", "-wal", "-shm", "-journal"].map { (name, file + $0) }
    }
}
