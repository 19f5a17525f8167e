import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// The program and a gateway in another process: what scripts and operators do with them.
@Suite(.limitedParallelism) struct ProcessTests {
    private func task(_ id: String, _ name: String) -> BulkDocument {
        let body = #"{"_id":"\#(id)","type":"task","task":"\#(name)","n":12345678901234567890123,"d":1.10}"#
        return BulkDocument(id: DocumentID(id), segments: [Array(body.utf8)])
    }

    /// Returns once the feed shows a document with an attachment.
    private func waitForPicture(_ phone: Gateway) async throws {
        var since = SequenceID.start
        while true {
            var answer = try await phone.changes(ChangesRequest(since: since, feed: .longpoll(timeout: .seconds(30))))
            var hasPicture = false
            while let batch = try await answer.next() {
                hasPicture = hasPicture || batch.contains { $0.document?["_attachments"] != nil }
            }
            if hasPicture { return }
            since = answer.lastSequence ?? since
        }
    }

    /// Starts `changebot gateway` with a file, and waits until it is ready.
    private func gateway(data: String) async throws -> (process: ChildProcess, url: String) {
        let process = try ChildProcess([Program.path, "gateway", "--listen", "127.0.0.1:0", "--data", data])
        let line = try #require(await process.readLine())
        return (process, try #require(line.split(separator: " ").last.map(String.init)))
    }

    private func runOnce(_ url: String, state: String, _ more: [String] = []) async throws -> (
        code: Int32, summary: String
    ) {
        let file = state + "-summary.json"
        let result = try await Program.run(
            ["run", "--once", "--gateway", url, "--rules", Program.pictureRules, "--state", state, "--summary", file]
                + more)
        return (result.code, try String(contentsOfFile: file, encoding: .utf8))
    }

    @Test func demoShowsThreePictures() async throws {
        let result = try await Program.run(["demo"])
        #expect(result.code == 0, "\(result.errors)")
        let attached = result.output.split(separator: "\n").filter { $0.hasPrefix("attached ") }
        #expect(attached.count == 3)
        for line in attached { #expect(line.split(separator: " ").count == 4 && line.count > 70, "\(line)") }
        let quiet = try await Program.run(["demo", "--quiet"])
        #expect(quiet.code == 0 && quiet.errors.isEmpty)
        #expect(quiet.output.split(separator: "\n") == attached)
    }

    /// Regression: the demo looked for its files in the working directory.
    @Test func demoWorksInAnyFolderAndCleansUp() async throws {
        try await Program.withDirectory { folder in
            // An installed program: no parent folder belongs to the project.
            let program = folder + "/changebot"
            let temporary = folder + "/tmp"
            try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: false)
            let process = try ChildProcess(
                // Copied by another process: a child of another test would keep the copy open for writing.
                ["/bin/sh", "-c", "cp '\(Program.path)' \(program) && cd / && exec \(program) demo --quiet"],
                environment: ["TMPDIR": temporary])
            let output = String(decoding: await process.readToEnd(), as: UTF8.self)
            #expect(await process.wait() == 0)
            #expect(output.split(separator: "\n").count { $0.hasPrefix("attached ") } == 3, "\(output)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: temporary) == [])
        }
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func stoppedDemoCleansUp(signal: Int32) async throws {
        try await Program.withDirectory { temporary in
            let process = try ChildProcess(
                ["/bin/sh", "-c", "exec \(Program.path) demo"], environment: ["TMPDIR": temporary],
                errors: "/dev/null")
            #expect(await process.readLine()?.hasPrefix("gateway") == true)
            process.signal(signal)
            let output = String(decoding: await process.readToEnd(), as: UTF8.self)
            // On a busy machine the demo may be done before it is stopped.
            let isDone = output.split(separator: "\n").count { $0.hasPrefix("attached ") } == 3
            let code = await process.wait()
            #expect(code == 1 || isDone && code == 0, "\(code): \(output)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: temporary) == [])
        }
    }

    @Test func runsWithOldAndNewStatesWriteNothingTwice() async throws {
        try await Program.withDirectory { directory in
            let (process, url) = try await gateway(data: directory + "/todo.sqlite")
            defer { process.kill() }
            let phone = Gateway(try GatewayURL(url))
            _ = try await phone.bulkDocs([task("t1", "apple"), task("t2", "tea"), task("t3", "Coffee")])
            let first = try await runOnce(url, state: directory + "/a")
            #expect(first.code == 0)
            #expect(first.summary.contains(#""written":2,"#), "\(first.summary)")
            #expect(try await runOnce(url, state: directory + "/a").summary.contains(#""written":0,"#))
            #expect(
                try await runOnce(url, state: directory + "/b", ["--since", "0"]).summary.contains(#""written":0,"#))
            let picture = try await phone.attachment("image", of: "t1")
            #expect(picture == Array(try Data(contentsOf: URL(fileURLWithPath: Program.root + "/assets/apple.png"))))
        }
    }

    /// Regression: Sync Gateway's rows have numbers, but its `last_seq` is a string, so the type in the summary varied.
    @Test func lastSequenceOfASummaryHasOneType() async throws {
        try await Program.withDirectory { directory in
            let (process, url) = try await gateway(data: directory + "/todo.sqlite")
            defer { process.kill() }
            _ = try await Gateway(try GatewayURL(url)).bulkDocs([task("t1", "apple")])
            var last: [String] = []
            for _ in 0..<3 {
                let summary = try await runOnce(url, state: directory + "/a").summary
                let sequence = try #require(try JSONText(summary).root["last_seq"])
                last.append(String(decoding: sequence.bytes, as: UTF8.self))
            }
            #expect(last[1] == last[2] && last.allSatisfy { Int($0) != nil }, "\(last)")
        }
    }

    /// Killed at any moment, the bot loses no change and writes no document twice.
    @Test func killingTheBotLosesNothing() async throws {
        try await Program.withDirectory { directory in
            let (process, url) = try await gateway(data: directory + "/todo.sqlite")
            defer { process.kill() }
            let phone = Gateway(try GatewayURL(url))
            let count = 1500
            for start in stride(from: 0, to: count, by: 500) {
                _ = try await phone.bulkDocs((start..<start + 500).map { task("t\($0)", "apple") })
            }
            let arguments = [
                Program.path, "run", "--gateway", url, "--rules", Program.pictureRules, "--state", directory + "/state",
                "--log-level", "critical",
            ]
            // Each process is killed once the feed shows that it has written.
            var sequence = try #require(try await phone.databaseInfo().updateSequence)
            for _ in 0..<4 {
                let bot = try ChildProcess(arguments)
                var answer = try await phone.changes(
                    ChangesRequest(
                        since: sequence, feed: .longpoll(timeout: .seconds(30)), includesDocuments: false, limit: 100))
                while try await answer.next() != nil {}
                bot.kill()
                sequence = answer.lastSequence ?? sequence
            }
            let last = try await runOnce(url, state: directory + "/state")
            #expect(last.code == 0, "\(last.summary)")
            var pictures = 0
            var answer = try await phone.changes(ChangesRequest())
            while let batch = try await answer.next() {
                for change in batch where change.kind == .document {
                    #expect(change.revision?.generation == 2, "\(change.id)")
                    if change.document?["_attachments"]?["image"] != nil { pictures += 1 }
                }
            }
            #expect(pictures == count)
            #expect(try await runOnce(url, state: directory + "/state").summary.contains(#""written":0,"#))
        }
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func daemonStopsCleanlyOnRequest(signal: Int32) async throws {
        try await Program.withDirectory { directory in
            let (process, url) = try await gateway(data: directory + "/todo.sqlite")
            defer { process.kill() }
            let phone = Gateway(try GatewayURL(url))
            let summary = directory + "/summary.json"
            let bot = try ChildProcess([
                Program.path, "run", "--gateway", url, "--rules", Program.pictureRules, "--state", directory + "/state",
                "--summary", summary, "--quiet",
            ])
            _ = try await phone.bulkDocs([task("t1", "apple")])
            try await waitForPicture(phone)
            bot.signal(signal)
            #expect(await bot.wait() == 0)
            #expect(try String(contentsOfFile: summary, encoding: .utf8).contains(#""written":1,"#))
        }
    }

    @Test func stoppedOneShotRunDoesNotLogThatItIsDone() async throws {
        try await Program.withDirectory { directory in
            let server = try TestServer { $0.waitForClose() }
            let bot = try ChildProcess(
                [
                    Program.path, "run", "--once", "--gateway", "http://127.0.0.1:\(server.port)/todo", "--rules",
                    Program.pictureRules, "--state", directory + "/state", "--shutdown-grace", "1s",
                ], errors: directory + "/log")
            await server.accepted.wait(for: 1)
            bot.signal(SIGTERM)
            await bot.wait()
            let log = try String(contentsOfFile: directory + "/log", encoding: .utf8)
            #expect(log.contains(" stopped ") && !log.contains(" done "), "\(log)")
        }
    }

    @Test func twoRunsWithOneNameExcludeEachOther() async throws {
        try await Program.withDirectory { directory in
            let (process, url) = try await gateway(data: directory + "/todo.sqlite")
            defer { process.kill() }
            let state = directory + "/state"
            let bot = try ChildProcess([
                Program.path, "run", "--gateway", url, "--rules", Program.pictureRules, "--state", state,
            ])
            // It holds the lock once it has written.
            let phone = Gateway(try GatewayURL(url))
            _ = try await phone.bulkDocs([task("t1", "apple")])
            try await waitForPicture(phone)
            let second = try await Program.run([
                "run", "--once", "--gateway", url, "--rules", Program.pictureRules, "--state", state,
            ])
            #expect(second.code == 75)
            #expect(second.errors.contains("pid \(bot.id)"), "\(second.errors)")
        }
    }

    @Test func embeddedGatewayRunsInsideTheRun() async throws {
        try await Program.withDirectory { directory in
            let file = directory + "/todo.sqlite"
            do {
                let (process, url) = try await gateway(data: file)
                _ = try await Gateway(try GatewayURL(url)).bulkDocs([task("t1", "apple")])
                process.signal(SIGTERM)
                #expect(await process.wait() == 0)
            }
            let state = directory + "/state"
            #expect(try await runOnce("embedded:" + file, state: state).summary.contains(#""written":1,"#))
            #expect(try await runOnce("embedded:" + file, state: state).summary.contains(#""written":0,"#))
            #expect(try await runOnce("embedded:", state: directory + "/other").code == 0)
        }
    }
}
