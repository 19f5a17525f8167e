internal import FoundationEssentials
internal import Rules

/// The folders of a bot's files that a system unit would hide or make read-only.
struct ServiceFolders: Equatable {
    /// Folders in home folders that are only read.
    var read: [String] = []
    /// Folders in home folders that are written.
    var writtenHomeFolders: [String] = []
    /// Folders elsewhere that are written, outside the unit's state folder.
    var written: [String] = []

    /// The folders that `ProtectHome=` hides; `%h` is root's home.
    private static let homes = ["/home/", "/root/", "/run/user/", "%h/"]
    /// The folder that the units can write to.
    private static let own = "/var/lib/changebot/"

    /// Whether the unit must open home folders.
    var areInHomes: Bool { !read.isEmpty || !writtenHomeFolders.isEmpty }

    /// - Parameters:
    ///   - read: Absolute paths of files that are read.
    ///   - written: Absolute paths of files that are written or created.
    init(read: [String] = [], written: [String] = []) {
        let (readFolders, writtenFolders) = (Set(read.map(Self.folder)), Set(written.map(Self.folder)))
        writtenHomeFolders = writtenFolders.filter(Self.isInHome).sorted()
        self.written = writtenFolders.filter { !Self.isInHome($0) && !($0 + "/").hasPrefix(Self.own) }.sorted()
        self.read = readFolders.subtracting(writtenFolders).filter(Self.isInHome).sorted()
    }

    /// The folders of the program, the configuration file, and all files that the configuration and its rules name. If
    /// the configuration file can't be read or its path has a specifier, only the first two are known. Blocks.
    static func find(binary: String, config: String) -> ServiceFolders {
        var read = [binary, config]
        var written: [String] = []
        if !config.contains("%"), let file = try? ConfigurationFile.read(config) {
            for (key, setting) in ([file.common] + file.bots.map(\.settings)).joined() {
                for text in setting.texts {
                    switch (key, SettingKey.named(key)?.kind) {
                    case ("rules", _): add(rules: text.absolutePath, &read, &written)
                    case ("state", _): written.append(text.absolutePath + "/state")
                    case ("summary", _): written.append(text.absolutePath)
                    case (_, .path?), (_, .paths?): read.append(text.absolutePath)
                    case (_, .gateway?) where text.hasPrefix("embedded:") && text != "embedded:":
                        written.append(String(text.dropFirst("embedded:".count)).absolutePath)
                    default: break
                    }
                }
            }
        }
        return ServiceFolders(read: read, written: written)
    }

    /// Adds a rule file or folder, and the files that the rules name.
    private static func add(rules path: String, _ read: inout [String], _ written: inout [String]) {
        let isFolder = (try? FileManager.default.contentsOfDirectory(atPath: path)) != nil
        read.append(isFolder ? path + "/file" : path)
        guard let rules = try? RuleFileSet.load(paths: [path]) else { return }
        let outside = rules.outsideFiles
        read += (rules.attached.files + outside.secrets.map(\.path) + outside.certificates.flatMap(\.paths))
            .map(\.absolutePath)
        read += rules.attached.folders.map { $0.absolutePath + "/file" }
        written += Set(rules.emittedFiles.map(\.path)).sorted().map(\.absolutePath)
    }

    private static func folder(_ path: String) -> String {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        return parts.dropLast().joined(separator: "/")
    }

    private static func isInHome(_ folder: String) -> Bool { homes.contains { (folder + "/").hasPrefix($0) } }
}
