import Foundation
import Monitoring
import TestKit
import Testing

@testable import changebot

@Suite(.limitedParallelism) struct RunningBotTests {
    /// Regression: in a container whose first process collects no exit codes, a killed bot keeps its process id, so it
    /// counted as running.
    @Test func killedBotIsNotRunningIfItsPIDIsReused() async throws {
        try await Program.withDirectory { folder in
            let program = folder + "/changebot-ended"
            try FileManager.default.copyItem(atPath: "/bin/sleep", toPath: program)
            let process = try ChildProcess([program, "3600"])
            try await process.waitUntil { StatusFile.isRunning(process.id) }
            let file = "\(folder)/b.status.\(process.id).json"
            let status = #"{"written_at":"2020-01-01T00:00:00Z","process":1,"bot":{"phase":"following"}}"#
            try Data(status.utf8).write(to: URL(fileURLWithPath: file))
            #expect(RunningBot.all(in: folder).map(\.process) == [process.id])
            process.signal(SIGKILL)
            // Waits for its end without collecting its exit code.
            var information = siginfo_t()
            #expect(waitid(P_PID, id_t(process.id), &information, WEXITED | WNOWAIT) == 0)
            #expect(kill(process.id, 0) == 0)
            #expect(RunningBot.all(in: folder).isEmpty)
            StatusFile.removeOld(in: folder, named: "b")
            #expect(!FileManager.default.fileExists(atPath: file))
            _ = await process.wait()
        }
    }

    /// `status` said that it had no status yet, for as long as it ran.
    @Test func botIsFoundUnderAnotherNameOfTheProgram() async throws {
        try await Program.withDirectory { folder in
            let link = folder + "/cb"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: Program.path)
            let process = try ChildProcess([link, "gateway", "--listen", "127.0.0.1:0"])
            defer { process.signal(SIGKILL) }
            let status = #"{"written_at":"2020-01-01T00:00:00Z","process":1,"bot":{"phase":"catching_up"}}"#
            try Data(status.utf8).write(to: URL(fileURLWithPath: "\(folder)/b.status.\(process.id).json"))
            let result = try await Program.run(["status", "--state", folder, "--name", "b"])
            #expect(result.output.contains("b: catching up"), "\(result)")
        }
    }

    /// A bot that only waits for changes writes its status once a minute.
    @Test func agesGrowAfterTheStatusWasWritten() async throws {
        try await Program.withDirectory { folder in
            let status = """
                {"written_at":"2020-01-01T00:00:00Z","process":1,"bot":{"phase":"following",\
                "gateway":{"url":"http://127.0.0.1/a","outage":{"seconds":5,"reason":"refused","next_attempt_in":9}},\
                "sequence":{"lag":0,"lag_seconds":0,"checkpoint_age_seconds":3}}}
                """
            try Data(status.utf8).write(to: URL(fileURLWithPath: "\(folder)/b.status.\(getpid()).json"))
            let bot = try #require(RunningBot.all(in: folder).first)
            #expect(try #require(bot.number("sequence", "checkpoint_age_seconds")) > 1_000_000)
            #expect(try #require(bot.number("gateway", "outage", "seconds")) > 1_000_000)
            #expect(bot.number("gateway", "outage", "next_attempt_in") == 0)
            #expect(bot.number("sequence", "lag_seconds") == 0)
        }
    }
}
