internal import FoundationEssentials
internal import Rules

/// Pictures that a rule file can name.
enum PictureFiles {
    private static let endings = [".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg"]
    /// The maximum number of files that are listed, and of subfolders that are looked at.
    private static let listLimit = 100
    /// The maximum number of names in a message.
    private static let shownLimit = 10

    static func isPicture(_ name: String) -> Bool { endings.contains { name.lowercased().hasSuffix($0) } }

    /// The pictures in the folder of a rule file and its subfolders, as the rule file would name them. Blocks.
    static func beside(_ path: String) -> [String] {
        let folder = RulePath.folder(of: path) ?? "."
        let names = names(in: folder)
        var found = names.filter { isPicture($0) && kind(RulePath.join(folder, $0)) == .file }
        for name in names.filter({ kind(RulePath.join(folder, $0)) == .folder }).prefix(listLimit) {
            if found.count >= listLimit { break }
            found += Self.names(in: RulePath.join(folder, name)).filter(isPicture).map { "\(name)/\($0)" }
        }
        return Array(found.prefix(listLimit))
    }

    /// Why a rule file can't name a picture. Nil: it can.
    static func refusal(of name: String, in path: String) -> String? {
        let file = RulePath.join(RulePath.folder(of: path), name)
        if FileManager.default.fileExists(atPath: file) { return nil }
        let others = beside(path)
        let folder = RulePath.folder(of: path) ?? "."
        guard !others.isEmpty else {
            return
                "'\(file)' does not exist; put the picture there, or write its path relative to the rule file. There "
                + "are no pictures in the folder '\(folder)'"
        }
        let more = others.count > shownLimit ? " and \(others.count - shownLimit) more" : ""
        return "'\(file)' does not exist; put the picture there, or choose one of "
            + others.prefix(shownLimit).map(\.visible).joined(separator: ", ") + more
    }

    private static func names(in folder: String) -> [String] {
        ((try? FileBytes.names(inFolder: folder)) ?? []).filter { !$0.hasPrefix(".") }
    }

    private static func kind(_ path: String) -> FileBytes.Kind? { try? FileBytes.kind(of: path) }
}
