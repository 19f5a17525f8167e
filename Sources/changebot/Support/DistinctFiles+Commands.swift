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

    /// A database and the files that SQLite keeps next to it.
    private static func database(_ file: String, _ name: String) -> [NamedFile] {
        ["", "-wal", "-shm", "-journal"].map { (name, file + $0) }
    }
}
