internal import BotState
internal import FoundationEssentials
internal import Glibc

/// What the system reports about a file or folder.
struct FileFacts: Sendable, Equatable {
    enum Kind: Sendable { case file, folder, link, other }

    let kind: Kind
    /// The permissions: `0o600`.
    let mode: Int
    /// The user id of its owner.
    let owner: Int

    init(kind: Kind, mode: Int, owner: Int) {
        self.kind = kind
        self.mode = mode
        self.owner = owner
    }

    /// Nil if there is nothing at `path`.
    ///
    /// - Parameter followsLink: Whether to look at what a link points to.
    init?(_ path: String, followsLink: Bool) {
        var facts = stat()
        guard (followsLink ? stat(path, &facts) : lstat(path, &facts)) == 0 else { return nil }
        switch facts.st_mode & S_IFMT {
        case S_IFREG: kind = .file
        case S_IFDIR: kind = .folder
        case S_IFLNK: kind = .link
        default: kind = .other
        }
        mode = Int(facts.st_mode & 0o7777)
        owner = Int(facts.st_uid)
    }

    /// Whether users other than the owner have any permission.
    var isOpenToOthers: Bool { mode & 0o077 != 0 }

    /// `0644`.
    var modeText: String { "0" + String(mode & 0o7777, radix: 8) }
}

/// The state folder as it was found.
struct StateFolder: Sendable {
    /// As given with `--state`.
    let path: String
    /// Nil if it does not exist.
    var folder: FileFacts?
    /// The folder, or if it does not exist, the nearest folder above it that does.
    var ancestor = ""
    /// Why no file can be created there; nil if one can.
    var problem: String?
    /// The bot's files in the folder, sorted by name.
    var files: [(name: String, facts: FileFacts)] = []
    /// The user id of this process.
    var user = 0
}

extension StateFolder {
    /// Inspects a folder. Blocks. Leaves nothing behind.
    init(inspecting path: String, bot: String) {
        self.path = path
        user = Int(getuid())
        folder = FileFacts(path, followsLink: true)
        var place = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        while FileFacts(place, followsLink: true) == nil, let slash = place.lastIndex(of: "/"), place != "/" {
            place = slash == place.startIndex ? "/" : String(place[..<slash])
        }
        ancestor = place
        guard FileFacts(place, followsLink: true)?.kind == .folder else {
            problem = "\(place) is not a folder"
            return
        }
        problem = FolderProbe.writeFailure(place)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        files = names.sorted().filter { $0.hasPrefix(bot + ".") || $0.hasPrefix(bot + "@") }.compactMap { name in
            FileFacts("\(path)/\(name)", followsLink: false).map { (name: name, facts: $0) }
        }
    }
}

/// Judges a state folder and its contents. Does no I/O.
enum StateCheck {
    /// - Parameter states: The bot's states in the folder, or why they can't be read. Nil: the state is in an engine.
    static func findings(_ folder: StateFolder, _ states: Result<[StateInspection], StateError>?) -> [Finding] {
        if let problem = problem(folder) { return [problem] }
        guard folder.folder != nil else { return [.ok("\(folder.path) does not exist yet; 'run' creates it")] }
        let permissions = permissions(folder)
        switch states {
        case nil: return permissions + [.ok("\(folder.path) can be written to; the state is in the engine")]
        case .failure(let error):
            return permissions + [Finding(.error, error.description, remedy: "choose another folder with --state")]
        case .success(let states) where states.isEmpty:
            return permissions + [.ok("\(folder.path) can be written to; this bot has no state there yet")]
        case .success(let states): return permissions + states.map { finding($0, in: folder) }
        }
    }

    private static func problem(_ folder: StateFolder) -> Finding? {
        if let facts = folder.folder, facts.kind != .folder {
            return Finding(.error, "\(folder.path) is not a folder", remedy: "choose another with --state")
        }
        guard let reason = folder.problem else { return nil }
        guard let facts = folder.folder else {
            return Finding(
                .error, "\(folder.path) does not exist and can't be created: \(folder.ancestor): \(reason)",
                remedy: "create it, owned by the user of the bot and with mode 0700, or choose another with --state")
        }
        return Finding(
            .error, "\(folder.path) can't be written to: \(reason)",
            remedy: facts.owner == folder.user
                ? "chmod u+rwx \(folder.path)"
                : "run doctor as the user of the bot, or chown the folder to that user, or choose another with --state")
    }

    private static func permissions(_ folder: StateFolder) -> [Finding] {
        guard let facts = folder.folder else { return [] }
        var findings: [Finding] = []
        if facts.owner != folder.user {
            findings.append(
                Finding(
                    .warning,
                    "\(folder.path) belongs to the user with id \(facts.owner), but this user has id \(folder.user)",
                    remedy: "run doctor as the user of the bot"))
        }
        if facts.isOpenToOthers {
            findings.append(
                Finding(
                    .warning, "other users can access \(folder.path) (mode \(facts.modeText))",
                    remedy: "chmod 700 \(folder.path)"))
        }
        // Links are reported with their states.
        for (name, facts) in folder.files where facts.kind == .file {
            let path = "\(folder.path)/\(name)"
            if facts.isOpenToOthers {
                findings.append(
                    Finding(
                        .warning, "other users can access \(path) (mode \(facts.modeText))",
                        remedy: "chmod 600 \(path)"))
            }
            if facts.owner != folder.user, facts.owner != folder.folder?.owner {
                findings.append(
                    Finding(
                        .warning, "\(path) belongs to the user with id \(facts.owner)",
                        remedy: "chown it to the user of the bot"))
            }
        }
        return findings
    }

    private static func finding(_ state: StateInspection, in folder: StateFolder) -> Finding {
        if let problem = state.problem {
            return Finding(
                .error, message: "\(state.path) can't be used: \(problem)",
                otherwise:
                    "restore the file from a backup, or move it away: the bot then continues at the copy of its checkpoint in the database"
            )
        }
        let version = state.version.map { "version \($0)" } ?? "empty"
        let parts = [
            state.checkpoint.map { "checkpoint \($0)" } ?? "no checkpoint", state.address.map { "of \($0)" },
            state.holder.map { "in use by \($0)" },
        ]
        return .ok("\(state.path): \(version), \(parts.compactMap(\.self).joined(separator: ", "))")
    }
}
