internal import FoundationEssentials
internal import Glibc

/// The process that listens on a port of this machine, as far as this user can see it.
///
/// - Note: Source: proc(5), `/proc/net/tcp`, `/proc/PID/fd`, `/proc/PID/comm`.
struct PortOwner: CustomStringConvertible {
    private let process: Int
    private let program: String

    var description: String { "\(program) (process \(process))" }

    /// Nil if no process listens there, or the process belongs to another user.
    init?(port: Int) {
        let sockets = Set(
            ["/proc/net/tcp", "/proc/net/tcp6"].flatMap { Self.lines($0) }
                .compactMap { Self.socket(listeningOn: port, $0) })
        guard !sockets.isEmpty else { return nil }
        let processes = Self.entries("/proc").compactMap { Int($0) }
        guard let process = processes.first(where: { Self.holds(sockets, $0) }) else { return nil }
        self.process = process
        program = Self.lines("/proc/\(process)/comm").first ?? "a program"
    }

    /// The link of the socket, `socket:[123]`, if the table's line describes a listener on this port.
    static func socket(listeningOn port: Int, _ line: String) -> String? {
        let fields = line.split(separator: " ")
        guard fields.count > 9, fields[3] == "0A", let number = fields[1].split(separator: ":").last,
            Int(number, radix: 16) == port
        else { return nil }
        return "socket:[\(fields[9])]"
    }

    private static func holds(_ sockets: Set<String>, _ process: Int) -> Bool {
        entries("/proc/\(process)/fd").contains { name in
            var target = [CChar](repeating: 0, count: 64)
            let count = readlink("/proc/\(process)/fd/\(name)", &target, target.count)
            return count > 0 && sockets.contains(String(decoding: target.prefix(count).map(UInt8.init), as: UTF8.self))
        }
    }

    private static func entries(_ folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    private static func lines(_ path: String) -> [String] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var lines: [String] = []
        var line = [CChar](repeating: 0, count: 512)
        while fgets(&line, Int32(line.count), file) != nil {
            lines.append(
                String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        return lines
    }
}
