internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc

struct ServicePrintCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "print",
        abstract: "Print systemd units: a service for a bot, and timers for fix and backups.",
        discussion: """
            sudo changebot service print --directory /etc/systemd/system
            changebot service print --user --directory ~/.config/systemd/user
            changebot service print run

            All units are templates: changebot@todo.service reads /etc/changebot/todo.yaml. Each begins with a comment \
            on how to install it.
            """)

    @Argument(help: "Which units: run, fix or backup. Default: all.")
    var kind: ServiceUnit.Kind?

    @Flag(help: "Units for 'systemctl --user', without root. Default: for the whole system.")
    var user = false

    @Option(
        help: ArgumentHelp("The program that the units start. Default: this one.", valueName: "file"),
        completion: .file())
    var binary: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The configuration file that the units read; %i is the part of the unit's name after the @. Default: /etc/changebot/%i.yaml, with --user ~/.config/changebot/%i.yaml.",
            valueName: "file"), completion: .yamlFile)
    var config: String?

    @Option(
        help: ArgumentHelp("Write each unit to a file in this folder. Default: stdout.", valueName: "dir"),
        completion: .directory)
    var directory: String?

    @Flag(help: "With --directory: overwrite existing units that differ.")
    var force = false

    @OptionGroup var notes: NoteOptions

    func run() throws {
        guard directory != nil || !force else {
            throw CommandError(.usage, "--force overwrites files: add --directory DIR, or remove --force")
        }
        let settings = ServiceUnit.Settings(
            binary: try path(of: binary, "--binary") ?? Self.ownPath(), isForUser: user,
            config: try path(of: config, "--config"))
        let units = (kind.map { [$0] } ?? ServiceUnit.Kind.allCases).flatMap { ServiceUnit.all($0, settings) }
        guard let directory else {
            let texts = units.map { $0.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }
            // Each text ends with a line feed, so an empty line separates two units.
            return try Console.write(Array(texts.joined().dropLast()))
        }
        try write(units, to: directory)
    }

    /// The option's value as an absolute path; nil if it is not given.
    ///
    /// - Throws: ``CommandError`` with 64 for a path that can't be written in a unit.
    private func path(of option: String?, _ name: String) throws(CommandError) -> String? {
        guard let option else { return nil }
        guard !option.isEmpty, option == option.visible else {
            throw CommandError(.usage, "\(name): write a path without line breaks and control characters")
        }
        // Specifiers such as %h stand for absolute paths.
        guard !option.hasPrefix("/"), !option.hasPrefix("%") else { return option }
        return URL(fileURLWithPath: option).standardizedFileURL.path
    }

    /// The path by which this program was called, even if that is a link: after an upgrade that changes the link, the
    /// units still work. Otherwise the path of the program itself.
    ///
    /// - Throws: ``CommandError`` with 66.
    private static func ownPath() throws(CommandError) -> String {
        let own = try programPath()
        let name = CommandLine.arguments.first ?? ""
        let folders = Environment().variable("PATH")?.split(separator: ":") ?? []
        let called = name.contains("/") ? [name] : folders.map { "\($0)/\(name)" }
        let links = called.map(\.absolutePath)
        return links.first { URL(fileURLWithPath: $0).resolvingSymlinksInPath().path == own } ?? own
    }

    private static func programPath() throws(CommandError) -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else {
            throw CommandError(.missingInput, "this program's path is unknown: name it with --binary")
        }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// - Throws: ``CommandError`` with 73, before any file is written, or 74.
    private func write(_ units: [ServiceUnit], to directory: String) throws(CommandError) {
        let places = units.map { (unit: $0, path: "\(directory)/\($0.name)") }
        for (unit, path) in places where !force {
            let present = FileManager.default.contents(atPath: path)
            guard present == nil || present == Data(unit.text.utf8) else {
                throw CommandError(
                    .cannotCreate,
                    "\(path) exists and differs from the new unit: compare them, then replace it with --force")
            }
        }
        // If this fails, the check below reports why.
        try? FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        for (_, path) in places { try OutputFile.check(path) }
        for (unit, path) in places {
            try OutputFile.write(Array(unit.text.utf8), to: path)
            try notes.note("wrote \(path)")
        }
    }
}

extension ServiceUnit.Kind: ExpressibleByArgument {}
