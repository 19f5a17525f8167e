internal import FoundationEssentials
internal import Revisions

/// The destination of an export (stdout, a file, or a special file such as a pipe) and the files next to it.
package struct ExportPlace: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        case standardOutput
        /// Written to a temporary file, renamed when complete, with a manifest.
        case file
        /// A pipe or a device.
        case special
        case folder
    }

    let kind: Kind
    /// The output's path with links resolved; `-` for stdout.
    package let path: String
    /// Whether to compress with gzip: the name ends with `.gz`, before the ending of encrypted files.
    let isCompressed: Bool
    /// Nil if it is not encrypted.
    package let encryption: ExportEncryption?

    /// - Parameters:
    ///   - path: A file, or `-` for stdout. A link is resolved; its target need not exist.
    ///   - encryption: Nil to write what can be read without a key.
    package init(_ path: String, encryption: ExportEncryption? = nil) {
        self.encryption = encryption
        (kind, self.path) = Self.destination(path)
        isCompressed = ExportEncryption.plainName(self.path).hasSuffix(".gz")
    }

    private static func destination(_ path: String) -> (Kind, String) {
        guard path != "-" else { return (.standardOutput, "-") }
        return switch OutputPath(path) {
        case .file(let file): (.file, file)
        case .folder: (.folder, path)
        case .special(let stream) where OutputPath.isStandardOutput(stream): (.standardOutput, "-")
        case .special: (.special, path)
        // Opening it will report the error.
        case .unusable: (.file, path)
        }
    }

    /// Whether it is written to a temporary file and renamed when complete, and gets a manifest.
    package var isNamed: Bool { kind == .file }
    /// Whether an interrupted export can be resumed: what was encrypted can't be continued.
    package var canResume: Bool { isNamed && encryption == nil }

    /// The path of the manifest: `.manifest.json` is added, instead of the ending of encrypted files. So it is also the
    /// manifest of the decrypted file.
    package var manifest: String { Self.manifest(of: path) }
    /// The unfinished file.
    var part: String { path + ".part" }
    /// The journal of an unfinished export.
    var journal: String { path + ".partial" }
    /// The documents of a table, until all columns are known.
    var spool: String { path + ".spool" }

    private static let manifestEnding = ".manifest.json"

    /// The path of the manifest of an export at `path`.
    package static func manifest(of path: String) -> String { ExportEncryption.plainName(path) + manifestEnding }

    static func isManifest(_ path: String) -> Bool { path.hasSuffix(manifestEnding) }

    /// The manifest's path. If its export is a link, the manifest next to the link's target.
    static func findManifest(_ path: String) -> String {
        guard !FileOperations.exists(path), path.hasSuffix(manifestEnding) else { return path }
        let adjacent = manifest(of: OutputPath.resolved(String(path.dropLast(manifestEnding.count))))
        return FileOperations.exists(adjacent) ? adjacent : path
    }

    /// The files next to the output during the export, or after an interrupted one.
    package var temporaryFiles: [String] { kind == .file ? [part, journal, spool] : [] }

    /// The directory for unnamed files.
    var temporaryDirectory: String {
        kind == .file ? FileOperations.directory(of: path) : FileOperations.temporaryDirectory
    }
}
