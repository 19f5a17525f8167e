import DocumentFlow
import Foundation
import GatewayClient
import TestKit
import Testing

@testable import changebot

/// The times and contents of messages to systemd.
@Suite struct ServiceProtocolTests {
    @Test func processIsReadyOnceAllBotsHaveBegun() {
        var messages = ServiceProtocol()
        #expect(messages.noteStarted("a") == nil)
        messages.expect(["a", "b"])
        #expect(messages.noteStarted("a") == nil)
        #expect(messages.noteStarted("a") == nil)
        #expect(messages.noteStarted("b") == "READY=1")
        #expect(messages.noteStarted("b") == nil)
    }

    @Test func reloadIsReportedOnceTheProcessIsReady() {
        var messages = ServiceProtocol()
        messages.expect(["a"])
        // systemd would mistake the end of the reload for the end of the start.
        #expect(messages.reloading(at: 5) == nil)
        #expect(messages.reloaded() == nil)
        _ = messages.noteStarted("a")
        #expect(messages.reloading(at: 5) == "RELOADING=1\nMONOTONIC_USEC=5")
        #expect(messages.reloaded() == "READY=1")
        _ = messages.stopping(within: .zero)
        #expect(messages.reloading(at: 5) == nil)
        #expect(messages.reloaded() == nil)
    }

    @Test func statusIsOneLineAndSentWhenItChanges() {
        var messages = ServiceProtocol()
        #expect(messages.show(status: "a\nb") == "STATUS=a b")
        #expect(messages.show(status: "a\nb") == nil)
        #expect(messages.show(status: String(repeating: "x", count: 1000))?.count == "STATUS=".count + 500)
    }

    @Test func systemdWaitsForTheDrain() {
        var messages = ServiceProtocol()
        #expect(messages.stopping(within: .seconds(300)) == "STOPPING=1\nEXTEND_TIMEOUT_USEC=310000000")
        #expect(messages.stopping(within: .seconds(300)) == nil)
    }

    @Test(arguments: ["", "@", "/", "relative", "vsock:2:1234", "/" + String(repeating: "x", count: 107)])
    func invalidAddressIsNoSocket(_ name: String) {
        #expect(NotifySocket(name) == nil)
        #expect(ServiceNotifier(["NOTIFY_SOCKET": name]) == nil)
    }

    @Test func vanishedSocketIsNoError() throws {
        let socket = try #require(NotifySocket("/nonexistent/notify"))
        #expect(socket.send("READY=1"))
    }

    @Test(
        arguments: [
            ("1000", nil, 1000), ("1000", "17", 1000), ("1000", "18", nil), ("0", nil, nil), ("soon", nil, nil),
            (nil, nil, nil),
        ] as [(String?, String?, Int?)])
    func watchdogIsFedForThisProcessOnly(_ interval: String?, _ process: String?, _ expected: Int?) throws {
        var variables = ["NOTIFY_SOCKET": "@changebot-test"]
        variables["WATCHDOG_USEC"] = interval
        variables["WATCHDOG_PID"] = process
        let notifier = try #require(ServiceNotifier(variables, process: 17))
        #expect(notifier.watchdogInterval == expected.map { Duration.microseconds($0) })
    }
}

/// The line in `systemctl status`.
@Suite struct ServiceStatusTests {
    private let now = ContinuousClock.now

    private func bot(
        _ phase: RunFacts.Phase, named name: String = "todo", behindFor span: Int? = nil, endReason: String? = nil,
        deadLetters: Int = 0, _ change: (inout RunFacts) -> Void = { _ in }
    ) -> ServiceStatus.Bot {
        var facts = RunFacts()
        facts.phase = phase
        facts.behindSince = span.map { now - .seconds($0) }
        change(&facts)
        return ServiceStatus.Bot(name: name, facts: facts, endReason: endReason, deadLetters: deadLetters)
    }

    private func text(_ bots: ServiceStatus.Bot...) -> String {
        var status = ServiceStatus()
        return status.text(bots, now: now, seconds: 1_000_000)
    }

    @Test func oneBotIsDescribed() {
        #expect(text(bot(.connecting)) == "connecting to the gateway")
        #expect(text(bot(.catchingUp, behindFor: 1)) == "catching up")
        let behind = bot(.catchingUp, behindFor: 1) { facts in
            facts.safeSequence = SequenceID("1000")
            facts.newest = SequenceID("13345")
        }
        #expect(text(behind) == "catching up, 12,345 behind")
        #expect(text(bot(.following)) == "up to date")
        #expect(text(bot(.following, behindFor: 9)) == "up to date")
        #expect(text(bot(.following, behindFor: 10)) == "work under way")
        #expect(text(bot(.stopping)) == "finishing the current work")
        #expect(text(bot(.following, endReason: "done")) == "ended: done")
        #expect(text(bot(.following, deadLetters: 3)) == "up to date; 3 dead letters")
        #expect(text() == "starting")
    }

    @Test func outageHasItsStartTime() {
        var status = ServiceStatus()
        let outage = Outage()
        _ = outage.note(GatewayError(.cannotConnect, "refused"), stopsAll: true, now: now - .milliseconds(90_700))
        let bot = bot(.following) { $0.outage = outage.status }
        let first = status.text([bot], now: now, seconds: 1_000_000)
        #expect(first == "gateway unavailable since 1970-01-12T13:45:10Z: refused")
        // It is not computed again, because fractions of seconds would make it vary.
        #expect(status.text([bot], now: now + .milliseconds(400), seconds: 1_000_000) == first)
    }

    @Test func lateBotsAreNamed() {
        #expect(text(bot(.following, named: "a"), bot(.following, named: "b")) == "2 bots up to date")
        #expect(
            text(bot(.following, named: "a"), bot(.catchingUp, named: "b"), bot(.following, named: "c"))
                == "2 of 3 bots up to date; b: catching up")
        let many = (1...5).map { bot(.connecting, named: "b\($0)") }
        var status = ServiceStatus()
        let line = status.text(many, now: now, seconds: 0)
        #expect(line.hasPrefix("0 of 5 bots up to date; b1: connecting") && line.hasSuffix("; and 2 more"), "\(line)")
    }

    @Test func refusedReloadIsReportedUntilOneIsValid() {
        var status = ServiceStatus()
        status.isReloadRefused = true
        let line = status.text([bot(.following)], now: now, seconds: 0)
        #expect(line.hasPrefix("up to date; the last reload failed"), "\(line)")
    }
}
