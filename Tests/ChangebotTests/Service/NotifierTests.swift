import TestKit
import Testing

@testable import changebot

/// Messages for which systemd has no room.
@Suite(.limitedParallelism) struct NotifierTests {
    /// Regression: the message was lost, so the unit never finished starting, and systemd ended it.
    @Test func blockedMessageIsSentWithTheNextOne() throws {
        let listener = try DatagramListener("@changebot-notifier-\(UInt64.random(in: 0...UInt64.max))")
        let notifier = try #require(ServiceNotifier(["NOTIFY_SOCKET": listener.name]))
        // More than the system buffers for a socket.
        for _ in 1...2_000 { notifier.feedWatchdog() }
        notifier.noteStopping(within: .seconds(1))
        let before = listener.rest()
        #expect(before.count < 2_000 && before.allSatisfy { $0 == "WATCHDOG=1" })
        notifier.feedWatchdog()
        let after = listener.rest()
        #expect(after.count == 2 && after.first?.hasPrefix("STOPPING=1\n") == true, "\(after)")
        #expect(after.last == "WATCHDOG=1")
    }

    @Test func onlyLatestStatusIsKept() throws {
        let listener = try DatagramListener("@changebot-notifier-\(UInt64.random(in: 0...UInt64.max))")
        let notifier = try #require(ServiceNotifier(["NOTIFY_SOCKET": listener.name]))
        for _ in 1...2_000 { notifier.feedWatchdog() }
        notifier.expect(["a"])
        notifier.noteFailure(CommandError(.incomplete, "one"))
        notifier.noteFailure(CommandError(.incomplete, "two"))
        _ = listener.rest()
        notifier.feedWatchdog()
        let after = listener.rest().filter { $0 != "WATCHDOG=1" }
        #expect(after.count == 2 && after.first?.hasPrefix("STOPPING=1\n") == true, "\(after)")
        #expect(after.last?.hasSuffix(": two") == true)
    }
}
