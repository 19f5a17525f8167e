internal import FoundationEssentials
internal import Glibc
internal import Outside
internal import Rules

/// Judges the rules of a bot, the files that they attach, and the files that their outside effects need. Blocks.
struct RulesCheck {
    /// The longest attachment that Sync Gateway accepts.
    static let attachmentLimit = 20 << 20
    private static let listedFiles = 10_000

    let rules: [Finding]
    let pictures: [Finding]
    let files: [Finding]
    /// The selectors of all rules; nil if the rules are invalid or missing.
    let related: [LocatedSelector]?
    /// The writes of all rules; nil if the rules are invalid or missing.
    let writes: [LocatedWrite]?
    /// Whether the rules turn `--keep-expiry` on.
    let readsExpiry: Bool

    /// - Parameter paths: The paths of the rules; nil if there are none.
    init(_ paths: [String]?) {
        guard let paths else {
            rules = [.skipped("no rules given; name them with --rules PATH")]
            (pictures, files) = ([.skipped("no rules given")], [.skipped("no rules given")])
            (related, writes, readsExpiry) = (nil, nil, false)
            return
        }
        do throws(RuleFilesError) {
            let loaded = try RuleFileSet.load(paths: paths)
            readsExpiry = try loaded.ruleSet().readsExpiry
            let counts = [
                Counted(loaded.fileCount, "file"), Counted(loaded.ruleCount, "rule"), Counted(loaded.testCount, "test"),
            ]
            let count = counts.map(\.description).joined(separator: ", ")
            rules =
                [.ok("\(count): valid")] + loaded.warnings().map { Finding(.warning, message: $0.description) }
            pictures = Self.pictures(loaded.attached)
            files = OutsideFilesCheck.findings(OutsideFileInspection(loaded))
            related = loaded.relatedSelectors
            writes = loaded.locatedWrites
        } catch {
            rules = error.errors.map { Finding(.error, message: $0.description) }
            (pictures, files) = ([.skipped("the rules are not valid")], [.skipped("the rules are not valid")])
            (related, writes, readsExpiry) = (nil, nil, false)
        }
    }

    private static func pictures(_ attached: AttachedPaths) -> [Finding] {
        guard !attached.attachedFiles.isEmpty || !attached.folders.isEmpty else {
            return [.skipped("the rules attach no files")]
        }
        var findings: [Finding] = []
        if !attached.attachedFiles.isEmpty {
            let verb = attached.attachedFiles.count == 1 ? "a rule attaches" : "rules attach"
            findings += judge(attached.attachedFiles, "that \(verb)")
        }
        for folder in attached.folders.sorted() {
            let files = regularFiles(in: folder)
            findings +=
                files.isEmpty
                ? [
                    Finding(
                        .warning, "\(folder), from which rules select files, is empty", remedy: "put the files there")
                ] : judge(files, "in \(folder), from which rules select")
        }
        return findings
    }

    /// - Parameter what: Follows "3 files".
    private static func judge(_ paths: [String], _ what: String) -> [Finding] {
        var (total, findings) = (0, [Finding]())
        for path in paths.sorted() {
            guard access(path, R_OK) == 0, let size = size(path) else {
                let reason = String(cString: strerror(errno))
                findings.append(
                    Finding(.error, "\(path) can't be read: \(reason)", remedy: "correct its path or its permissions"))
                continue
            }
            total += size
            if size > attachmentLimit {
                findings.append(
                    Finding(
                        .warning,
                        "\(path) has \(Quantity.size(size)): Sync Gateway accepts attachments of up to 20 MiB",
                        remedy: "make it smaller"))
            }
        }
        let readable = paths.count - findings.count(where: { $0.level == .error })
        return findings
            + (readable == 0
                ? [] : [.ok("\(Quantity.count(readable, "file")) \(what), \(Quantity.size(total)) in all")])
    }

    private static func size(_ path: String) -> Int? {
        var facts = stat()
        return stat(path, &facts) == 0 ? Int(facts.st_size) : nil
    }

    private static func regularFiles(in folder: String) -> [String] {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
        return names.prefix(listedFiles).map { "\(folder)/\($0)" }.filter {
            let kind = FileFacts($0, followsLink: true)?.kind
            return kind == .file || kind == nil
        }
    }
}
