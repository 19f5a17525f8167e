internal import Encodings
internal import Outside

/// Judges the files that webhooks, downloads and `emit` need. Does no I/O.
enum OutsideFilesCheck {
    static func findings(_ files: OutsideFileInspection) -> [Finding] {
        guard files.readCount + files.writtenCount > 0 else {
            return [.skipped("no rule needs files for webhooks or downloads, or emits to a file")]
        }
        let problems = files.problems.map { Finding(.error, message: $0) }
        let exposed = files.exposed.map { Finding.exposed($0.path, what: $0.what) }
        return problems + exposed + (problems.isEmpty ? [.ok(summary(files))] : [])
    }

    private static func summary(_ files: OutsideFileInspection) -> String {
        let read = "\(Quantity.count(files.readCount, "file")) of webhooks and downloads can be read"
        let written = "\(Quantity.count(files.writtenCount, "file")) of 'emit' can be written"
        return [files.readCount > 0 ? read : nil, files.writtenCount > 0 ? written : nil].compactMap(\.self)
            .joined(separator: ", ")
    }
}

extension Finding {
    /// A file with a secret that every user of this machine can read.
    ///
    /// - Parameter what: The kind of secret: `password`.
    static func exposed(_ path: String, what: String) -> Finding {
        Finding(
            .warning, "every user of this machine can read \(path), the file with the \(what)",
            remedy: "chmod 600 \(path.shellWord)")
    }
}
