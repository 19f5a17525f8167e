internal import Foundation

/// Where an export goes: stdout, a file, or something that is written to as it is, such as a pipe.
package struct ExportPlace: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        case standardOutput
        /// Written beside, renamed when it is whole, with a manifest.
        case file
        /// A pipe or a device.
        case special
        case folder
    }

    let kind: Kind
    package let path: String
    /// Packed with gzip: the name ends so.
    let isPacked: Bool

    /// - Parameter path: A file, or `-` for stdout. A link leads to its file, which need not be there yet.
    package init(_ path: String) {
        guard path != "-" else {
            self.init(.standardOutput, "-")
            return
        }
        switch OutputPath(path) {
        case .file(let file): self.init(.file, file)
        case .folder: self.init(.folder, path)
        case .special(let stream) where OutputPath.isStandardOutput(stream): self.init(.standardOutput, "-")
        case .special: self.init(.special, path)
        // What is wrong shows when it is opened.
        case .unusable: self.init(.file, path)
        }
    }

    private init(_ kind: Kind, _ path: String) {
        self.kind = kind
        self.path = path
        isPacked = path.hasSuffix(".gz")
    }

    /// Whether an interrupted export can be gone on with.
    package var canResume: Bool { kind == .file }

    package var manifest: String { Self.manifest(of: path) }
    /// What is written until it is whole.
    var part: String { path + ".part" }
    /// How far it is.
    var journal: String { path + ".partial" }
    /// Documents that wait until all columns are known.
    var spool: String { path + ".spool" }

    private static let manifestEnding = ".manifest.json"

    package static func manifest(of path: String) -> String { path + manifestEnding }

    static func isManifest(_ path: String) -> Bool { path.hasSuffix(manifestEnding) }

    /// Where a manifest is: there, or, if its export's name is a link, beside the file that this leads to.
    static func findManifest(_ path: String) -> String {
        guard !WholeFile.exists(path), path.hasSuffix(manifestEnding) else { return path }
        let beside = manifest(of: OutputPath.resolved(String(path.dropLast(manifestEnding.count))))
        return WholeFile.exists(beside) ? beside : path
    }

    /// What is beside the output while it is written, or after it was interrupted.
    package var temporaryFiles: [String] { kind == .file ? [part, journal, spool] : [] }

    /// Where files go that nobody is to see.
    var temporaryDirectory: String { kind == .file ? WholeFile.directory(of: path) : NSTemporaryDirectory() }
}
