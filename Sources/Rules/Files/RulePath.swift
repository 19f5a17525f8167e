/// Paths in rule files. Nothing that a shell would expand, such as variables or `~`, is expanded.
enum RulePath {
    /// `path` relative to `folder`. Unchanged if it is absolute or there is no folder.
    static func join(_ folder: String?, _ path: String) -> String {
        guard let folder, !folder.isEmpty, !path.hasPrefix("/") else { return path }
        return folder.hasSuffix("/") ? folder + path : folder + "/" + path
    }

    /// The folder part of a path. Nil if there is none.
    static func folder(of path: String) -> String? {
        guard let slash = path.lastIndex(of: "/") else { return nil }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static let endings = [".yaml", ".yml", ".json"]

    /// The file at `path`, or the rule files of that folder, sorted by name.
    ///
    /// - Throws: ``FileError/noRuleFiles(_:)`` for a folder without rule files.
    static func files(at path: String) throws(FileError) -> [String] {
        guard try FileBytes.kind(of: path) == .folder else { return [path] }
        let names = try FileBytes.names(inFolder: path).filter { name in
            !name.hasPrefix(".") && endings.contains { name.hasSuffix($0) }
        }
        guard !names.isEmpty else { throw .noRuleFiles(path) }
        return names.map { join(path, $0) }
    }
}
