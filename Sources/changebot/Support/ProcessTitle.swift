internal import Foundation

/// What other users of the machine see of the command line.
enum ProcessTitle {
    /// Blots out user info in the URLs of the process's own arguments, as curl does. To be called after they were read.
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

    /// From behind `://` to the last `@` before the path.
    static func userInfo(in argument: some Collection<UInt8>) -> Range<Int> {
        let bytes = Array(argument)
        let mark = Array("://".utf8)
        guard bytes.count > mark.count,
            let start = bytes.indices.dropLast(2).first(where: { bytes[$0..<$0 + 3].elementsEqual(mark) })
        else { return 0..<0 }
        let authority = bytes[(start + 3)...].prefix { $0 != UInt8(ascii: "/") }
        guard let end = authority.lastIndex(of: UInt8(ascii: "@")) else { return 0..<0 }
        return authority.startIndex..<end
    }
}
