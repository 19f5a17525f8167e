internal import Encodings
internal import FoundationEssentials
internal import Glibc
internal import LosslessJSON

/// The last status of a run, stored next to its state: for `changebot status`, even for a bot without `--http`.
///
/// The file is replaced as a whole when the status has changed, and only its owner can read it. It is not part of the
/// state: it may be missing or outdated.
package struct StatusFile: Sendable {
    /// The shortest time between two writes, and the time between them while the run has work.
    package static let interval: Duration = .seconds(5)

    private let path: String

    /// - Parameters:
    ///   - directory: The folder of the state. Nothing is written while it is missing.
    ///   - name: The bot's name.
    package init(directory: String, name: String) { path = "\(directory)/\(name)\(Self.infix)\(getpid()).json" }

    /// Separates the bot's name and the process id: runs of one name on several databases have separate files.
    private static let infix = ".status."

    /// The files of all bots in a folder, by name. They may include files of killed processes.
    package static func all(in directory: String) -> [(name: String, process: Int32, path: String)] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        let files = names.compactMap { file -> (name: String, process: Int32, path: String)? in
            guard file.hasSuffix(".json"), let range = file.firstRange(of: infix),
                let process = Int32(file[range.upperBound...].dropLast(".json".count))
            else { return nil }
            return (String(file[..<range.lowerBound]), process, "\(directory)/\(file)")
        }
        return files.sorted { ($0.name, $0.process) < ($1.name, $1.process) }
    }

    /// Whether the process with this id is still the run. Another program may have the id now. A killed process keeps
    /// its id until its parent has waited for it, which may never happen in a container.
    ///
    /// - Note: Source: proc(5), `/proc/PID/stat`: `PID (NAME) STATE …`.
    package static func isRunning(_ process: Int32) -> Bool {
        guard kill(process, 0) == 0 || errno == EPERM else { return false }
        guard let facts = FileManager.default.contents(atPath: "/proc/\(process)/stat") else { return true }
        let text = String(decoding: facts, as: UTF8.self)
        guard let name = text.firstIndex(of: "("), let end = text.lastIndex(of: ")") else { return true }
        guard !text[end...].hasPrefix(") Z") else { return false }
        return text[name...].hasPrefix("(changebot") || isSameProgram(process)
    }

    /// Whether the process runs this program, under whatever name: a link, or a renamed file.
    private static func isSameProgram(_ process: Int32) -> Bool {
        func program(_ process: String) -> String? {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/exe")
        }
        return program("self").map { $0 == program("\(process)") } ?? false
    }

    /// Removes the files of this bot's killed runs.
    package static func removeOld(in directory: String, named name: String) {
        for file in all(in: directory) where file.name == name && !isRunning(file.process) {
            unlink(file.path)
        }
    }

    /// Call when the run ends.
    package func remove() { unlink(path) }

    /// Writes the bot's current status.
    ///
    /// - Returns: False if it can't be written, for example because the run has no state yet. The next call may
    ///   succeed.
    @discardableResult
    package func write(_ bot: MonitoredBot) -> Bool {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("written_at", string: Timestamp.now)
            writer.member("process", integer: Int(getpid()))
            writer.name("bot")
            bot.write(to: &writer)
        }
        return replace(with: writer.bytes + [UInt8(ascii: "\n")])
    }

    private func replace(with bytes: [UInt8]) -> Bool {
        let temporary = path + ".new"
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return false }
        let isWritten = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) == $0.count }
        close(descriptor)
        guard isWritten, rename(temporary, path) == 0 else {
            unlink(temporary)
            return false
        }
        return true
    }
}
