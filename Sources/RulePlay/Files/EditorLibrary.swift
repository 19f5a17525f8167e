internal import HTTPServing
internal import Rules

/// The files of CodeMirror 5, which Debian installs (`libjs-codemirror`). Without them, the page has a plain text field.
package struct EditorLibrary: Sendable {
    /// Where Debian installs it.
    package static let folder = "/usr/share/javascript/codemirror"

    /// What the page loads, in this order. No other file is served.
    static let files = [
        "lib/codemirror.css", "addon/hint/show-hint.css", "lib/codemirror.js", "addon/hint/show-hint.js",
        "mode/yaml/yaml.js",
    ]
    private static let lengthLimit = 4 << 20

    /// By path below `/editor/`. Empty if a file is missing.
    private let contents: [String: [UInt8]]

    /// Reads the files. Blocks.
    package init(folder: String = Self.folder) {
        var contents: [String: [UInt8]] = [:]
        for file in Self.files {
            guard let bytes = try? FileBytes.read("\(folder)/\(file)", limit: Self.lengthLimit) else { break }
            contents[file] = bytes
        }
        self.contents = contents.count == Self.files.count ? contents : [:]
    }

    /// Whether there is a library.
    package var isInstalled: Bool { !contents.isEmpty }

    /// Nil if this is not one of its files.
    func answer(_ path: String) -> Answer? {
        guard path.hasPrefix("/editor/"), let bytes = contents[String(path.dropFirst("/editor/".count))] else {
            return nil
        }
        let type = path.hasSuffix(".css") ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8"
        return Answer(status: 200, fields: [HTTPField("Content-Type", type)], body: .whole(bytes))
    }
}
