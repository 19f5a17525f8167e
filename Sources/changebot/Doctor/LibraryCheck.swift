internal import BotState
internal import Glibc
internal import HTTPTransport
internal import LosslessJSON
internal import Rules

/// Lists the system libraries that this process uses, with their versions. Blocks.
enum LibraryCheck {
    static var finding: Finding {
        let asked =
            HTTPClient.libraryVersions
            + [SmallJSON.libraryVersion, StateInspection.libraryVersion, RuleSet.regexLibraryVersion]
        let loaded = fileNames(in: maps, of: ["libjq", "libicui18n"])
        return .ok((asked + loaded).joined(separator: ", "))
    }

    /// The memory map of this process. The kernel returns it in pieces, so it is read to the end.
    private static var maps: String {
        let descriptor = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        while let part = FileDescriptor(number: descriptor).read(upTo: 1 << 16), !part.isEmpty { bytes += part }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The file names of libraries that have no version function: `libjq.so.1.0.4`.
    ///
    /// - Parameter maps: `/proc/self/maps`, see proc(5). The path is the last word of a line.
    static func fileNames(in maps: String, of libraries: [String]) -> [String] {
        let lines: [Substring] = maps.split(separator: "\n")
        let paths: [Substring] = lines.compactMap { line in line.firstIndex(of: "/").map { line.suffix(from: $0) } }
        let files = Set(paths.compactMap { $0.split(separator: "/").last.map(String.init) })
        return libraries.compactMap { library in files.first { $0.hasPrefix(library + ".so") } }
    }
}
