import Locking
import TestKit
import Testing

@Suite struct TestWatchdogTests {
    @Test func testThatDoesNotEndIsNamed() throws {
        var messages: [String] = []
        TestWatchdog().watch(try #require(Test.current), limit: .zero) { messages.append($0) }
        #expect(messages.count == 1)
        #expect(messages[0].contains("testThatDoesNotEndIsNamed() was cancelled, and has not ended"))
    }

    @Test func testThatEndsIsNotWatched() throws {
        let watchdog = TestWatchdog()
        watchdog.stop()
        watchdog.watch(try #require(Test.current), limit: .zero) { Issue.record("\($0)") }
    }
}
