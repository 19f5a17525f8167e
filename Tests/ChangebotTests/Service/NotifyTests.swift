import Foundation
import GatewayClient
import Glibc
import LosslessJSON
import TestKit
import Testing

/// The messages of `run` to systemd, on a socket like systemd's.
@Suite(.limitedParallelism) struct NotifyTests {
    private static let rule = "- { name: a, when: { type: task }, then: [] }\n"

    /// A bot as a service, and its messages.
    private final class Service {
        let listener: DatagramListener
        let process: ChildProcess
        private(set) var messages: [String] = []

        init(
            _ bed: CommandTestBed, gateway: String? = nil, socket: String? = nil, watchdog: Int? = nil,
            _ more: [String] = [], state: String? = nil
        ) throws {
            listener = try DatagramListener(socket ?? bed.folder + "/notify")
            var variables = ["NOTIFY_SOCKET": listener.name]
            variables["WATCHDOG_USEC"] = watchdog.map { "\($0)" }
            process = try ChildProcess(
                [
                    Program.path, "run", "--gateway", gateway ?? bed.url, "--rules", bed.folder + "/r.yaml", "--state",
                    state ?? bed.state, "--log-level", "error",
                ] + more, environment: variables)
        }

        /// Receives messages up to one that contains `part`.
        @discardableResult func wait(for part: String) async throws -> String {
            while !Task.isCancelled, let message = await listener.next() {
                messages.append(message)
                if message.contains(part) { return message }
            }
            throw Nothing(part: part, messages: messages)
        }

        struct Nothing: Error {
            let part: String
            let messages: [String]
        }
    }

    @Test func botIsReadyThenUpToDateThenStops() async throws {
        try await CommandTestBed.with([#"{"_id":"t","type":"task"}"#], rules: Self.rule) { bed in
            let service = try Service(bed, ["--shutdown-grace", "20s"])
            try await service.wait(for: "READY=1")
            if !service.messages.contains(where: { $0.contains("STATUS=up to date") }) {
                try await service.wait(for: "STATUS=up to date")
            }
            #expect(service.messages.first == "STATUS=starting")
            // No watchdog is configured.
            #expect(!service.messages.contains { $0.contains("WATCHDOG") })
            service.process.signal(SIGTERM)
            let stopping = try await service.wait(for: "STOPPING=1")
            #expect(stopping.contains("EXTEND_TIMEOUT_USEC=30000000\n"), "\(stopping)")
            #expect(stopping.contains("STATUS=stopping"), "\(stopping)")
            #expect(await service.process.wait() == 0)
        }
    }

    @Test func reloadIsReportedWithItsTimeAndEnd() async throws {
        try await CommandTestBed.with(rules: Self.rule) { bed in
            let service = try Service(bed)
            try await service.wait(for: "READY=1")
            let before = Self.monotonicMicroseconds
            service.process.signal(SIGHUP)
            let reloading = try await service.wait(for: "RELOADING=1")
            let time = try #require(reloading.firstMatch(of: /MONOTONIC_USEC=([0-9]+)/).flatMap { Int($0.output.1) })
            #expect((before...Self.monotonicMicroseconds).contains(time))
            try await service.wait(for: "READY=1")
            try bed.write(rules: "- broken")
            service.process.signal(SIGHUP)
            try await service.wait(for: "RELOADING=1")
            let refused = try await service.wait(for: "READY=1")
            #expect(refused.contains("the last reload failed"), "\(refused)")
            await service.process.stop()
        }
    }

    private static var monotonicMicroseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000 + time.tv_nsec / 1000
    }

    @Test func unreachableGatewayDelaysNeitherStartNorWatchdog() async throws {
        try await CommandTestBed.with(rules: Self.rule) { bed in
            let gateway = "http://127.0.0.1:\(try FreePort.find())/todo"
            let service = try Service(bed, gateway: gateway, watchdog: 100_000)
            try await service.wait(for: "READY=1")
            #expect(
                service.messages.contains { $0.contains("STATUS=gateway unavailable since 2") }, "\(service.messages)")
            for _ in 1...10 { try await service.wait(for: "WATCHDOG=1") }
            #expect(await service.process.stop() == 0)
        }
    }

    @Test func abstractSocketNameWorks() async throws {
        try await CommandTestBed.with(rules: Self.rule) { bed in
            let service = try Service(bed, socket: "@changebot-test-\(UUID().uuidString)", watchdog: 100_000)
            try await service.wait(for: "READY=1")
            try await service.wait(for: "WATCHDOG=1")
            #expect(await service.process.stop() == 0)
        }
    }

    @Test(arguments: ["/nonexistent/notify", "nonsense"])
    func missingSocketChangesNothing(_ socket: String) async throws {
        try await CommandTestBed.with([#"{"_id":"t","type":"task"}"#], rules: Self.stamp) { bed in
            let process = try ChildProcess(
                [
                    Program.path, "run", "--gateway", bed.url, "--rules", bed.folder + "/r.yaml", "--state", bed.state,
                    "--log-level", "error",
                ], environment: ["NOTIFY_SOCKET": socket, "WATCHDOG_USEC": "100000"])
            try await bed.wait(for: "t") { $0["done"] != nil }
            #expect(await process.stop() == 0)
        }
    }

    private static let stamp = "- { name: a, when: { type: task }, then: [{ merge: { done: true } }] }\n"

    /// It must not be restarted repeatedly: the unit lists this exit code as one for which a restart does not help.
    @Test func unwritableStateFolderEndsTheStartWithItsReason() async throws {
        try await CommandTestBed.with(rules: Self.rule) { bed in
            let service = try Service(bed, state: "/dev/null/state")
            let failed = try await service.wait(for: "STATUS=failed")
            #expect(failed.contains("STATUS=failed with exit code 73: can't create /dev/null/state"), "\(failed)")
            #expect(failed.contains("in a systemd unit: StateDirectory="), "\(failed)")
            #expect(await service.process.wait() == 73)
            #expect(!service.messages.contains { $0.contains("READY=1") })
        }
    }

    @Test func oneShotRunNotifiesNothing() async throws {
        try await CommandTestBed.with(rules: Self.rule) { bed in
            let service = try Service(bed, ["--once"])
            #expect(await service.process.wait() == 0)
            #expect(service.listener.rest().isEmpty)
        }
    }
}
