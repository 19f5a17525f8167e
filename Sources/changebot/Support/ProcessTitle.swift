internal import FoundationEssentials
internal import Glibc

/// The command line as other users of the machine see it.
enum ProcessTitle {
    /// Overwrites user info in URLs of the process's arguments, like curl. Call it after the arguments were read.
    static func hideCredentials() {
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            let count = strlen(argument)
            argument.withMemoryRebound(to: UInt8.self, capacity: count) { bytes in
                for at in userInfo(in: UnsafeBufferPointer(start: bytes, count: count)) {
                    bytes[at] = UInt8(ascii: "*")
                }
            }
        }
    }

    /// The text with user info overwritten in each word.
    static func redacted(_ text: String) -> String {
        var bytes = Array(text.utf8)
        for word in bytes.indices.split(whereSeparator: { bytes[$0] <= 0x20 }) {
            for at in userInfo(in: bytes[word.startIndex..<word.endIndex]) {
                bytes[word.startIndex + at] = UInt8(ascii: "*")
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The bytes from `://` to the last `@`, even after a `/`: a password may contain characters that should have been
    /// escaped.
    static func userInfo(in argument: some Collection<UInt8>) -> Range<Int> {
        let bytes = Array(argument)
        let mark = Array("://".utf8)
        guard bytes.count > mark.count,
            let start = bytes.indices.dropLast(2).first(where: { bytes[$0..<$0 + 3].elementsEqual(mark) })
        else { return 0..<0 }
        let rest = bytes[(start + 3)...]
        guard let end = rest.lastIndex(of: UInt8(ascii: "@")) else { return 0..<0 }
        return rest.startIndex..<end
    }
}
