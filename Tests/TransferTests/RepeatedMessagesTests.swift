import Locking
import Logging
import Testing

@testable import Transfer

@Suite struct RepeatedMessagesTests {
    private struct Recorder: LogHandler {
        let lines: Locked<[String]>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { lines.withLock { $0.append("\(event.level) \(event.message)") } }
    }

    private func lines(_ count: Int, level: Logger.Level) -> [String] {
        let lines = Locked<[String]>([])
        var logger = Logger(label: "test") { _ in Recorder(lines: lines) }
        logger.logLevel = level
        var messages = RepeatedMessages(last: "no more")
        for number in 0..<count { messages.log("\(number)", .error, to: logger, [:]) }
        return lines.withLock { $0 }
    }

    @Test func onlyFirstMessagesAreLoggedIndividually() {
        #expect(lines(20, level: .info) == (0..<20).map { "error \($0)" })
        #expect(lines(1_000, level: .info) == (0..<20).map { "error \($0)" } + ["error no more"])
        #expect(lines(1_000, level: .debug).count == 1_001)
    }
}
