/// Paths in rule files. Nothing that a shell would expand, such as variables or `~`, is expanded.
package enum RulePath {
    /// `path` relative to `folder`. Unchanged if it is absolute or there is no folder.
    package static func join(_ folder: String?, _ path: String) -> String {
        guard let folder, !folder.isEmpty, !path.hasPrefix("/") else { return path }
        return folder.hasSuffix("/") ? folder + path : folder + "/" + path
    }

    /// The folder part of a path. Nil if there is none.
    package static func folder(of path: String) -> String? {
        guard let slash = path.lastIndex(of: "/") else { return nil }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static let endings = [".yaml", ".yml", ".json"]

    /// Whether a file of this name is a rule file if it is in a folder of rules.
    package static func isRuleFile(_ path: String) -> Bool { endings.contains { path.hasSuffix($0) } }

    /// The path without links, `.` and `..`. Parts that do not exist stay as they are.
    static func resolved(_ path: String) -> String {
        if let real = try? FileBytes.realPath(path) { return real }
        guard let name = path.split(separator: "/").last else { return path }
        let parent = folder(of: path.hasSuffix("/") ? String(path.dropLast()) : path) ?? "."
        return parent == path ? path : join(resolved(parent), String(name))
    }

    /// Whether a path leads into a folder. Both are resolved.
    static func isInside(_ path: String, _ folder: String) -> Bool {
        path.begins(with: folder == "/" ? "/" : folder + "/")
    }

    /// The file at `path`, or the rule files of that folder, sorted by name.
    ///
    /// - Throws: ``FileError/noRuleFiles(_:)`` for a folder without rule files, ``FileError/pattern(_:)``.
    package static func files(at path: String) throws(FileError) -> [String] {
        let kind: FileBytes.Kind
        do throws(FileError) { kind = try FileBytes.kind(of: path) } catch {
            guard case .missing = error, path.contains(where: { "*?[{".contains($0) }) else { throw error }
            throw .pattern(path)
        }
        guard kind == .folder else { return [path] }
        let names = try FileBytes.names(inFolder: path).filter { name in
            !name.hasPrefix(".") && isRuleFile(name)
        }
        guard !names.isEmpty else { throw .noRuleFiles(path) }
        return names.map { join(path, $0) }
    }
}
