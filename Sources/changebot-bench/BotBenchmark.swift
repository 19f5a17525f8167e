internal import Foundation
internal import GatewayClient
internal import LosslessJSON

/// The program itself beside an embedded gateway, both as processes of their own: a catch-up over 100,000 changes, and
/// how long a task waits for its picture.
///
/// Needs the program beside this one (`swift build -c release`) and the project's folder as the working directory.
enum BotBenchmark {
    private static let documents = 100_000
    private static let tasks = 200

    static func run() async -> Bool {
        do {
            for every in [100, 1] { try await catchUp(matchingEvery: every) }
            try await latency()
            return true
        } catch {
            print("can't measure: \(error)")
            return false
        }
    }

    // MARK: - Catching up

    private static func catchUp(matchingEvery every: Int) async throws {
        try await withGateway { url, directory in
            let gateway = Gateway(try GatewayURL(url))
            let loading = ContinuousClock.now
            for start in stride(from: 0, to: documents, by: 1000) {
                _ = try await gateway.bulkDocs((start..<start + 1000).map { task($0, every) })
            }
            let rate = Double(documents) / (ContinuousClock.now - loading).inSeconds
            print("\(documents) tasks, 1 in \(every) matching; loaded at \(Int(rate)) documents/s")
            let changes = url + "/_changes?include_docs=true"
            print(
                "  curl, one request   " + (try Usage.of(["/usr/bin/env", "curl", "-s", "-o", "/dev/null", changes])))
            for (label, state) in [("run --once          ", "/a"), ("again, new state    ", "/b")] {
                let summary = directory + "/summary.json"
                let usage = try Usage.of([
                    program, "run", "--once", "--quiet", "--gateway", url, "--rules", "rules",
                    "--state", directory + state, "--summary", summary,
                ])
                print("  " + label + usage + ", peak " + peakMemory(summary) + " MiB")
            }
            await gateway.shutdown()
        }
    }

    /// The program's own word: what the kernel counts for a child begins with its parent's.
    private static func peakMemory(_ summary: String) -> String {
        let bytes = FileManager.default.contents(atPath: summary).flatMap { SmallJSON($0) }?["peak_memory"]?.integer
        return (Double(bytes ?? 0) / 1_048_576).formatted(decimals: 1, width: 5)
    }

    private static func task(_ number: Int, _ every: Int) -> BulkDocument {
        let id = "task-\(number)"
        let name = number % every == 0 ? "apple" : "thing \(number)"
        let note = String(repeating: "lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do ", count: 4)
        let body =
            #"{"_id":"\#(id)","type":"task","task":"\#(name)","complete":false,"createdAt":"2026-11-20T10:00:00.000Z","#
            + #""taskList":{"id":"amy.groceries","owner":"amy"},"n":12345678901234567890123,"note":"\#(note)"}"#
        return BulkDocument(id: DocumentID(id), segments: [Array(body.utf8)])
    }

    // MARK: - Latency

    /// From the answer to a PUT until the task has its picture, as another client of the feed sees it.
    private static func latency() async throws {
        try await withGateway { url, directory in
            let bot = try start([
                program, "run", "--quiet", "--gateway", url, "--rules", "rules", "--state", directory + "/c",
            ])
            defer { bot.terminate() }
            let gateway = Gateway(try GatewayURL(url))
            var waits: [Duration] = []
            for number in 0..<tasks {
                let id = DocumentID("latency-\(number)")
                try await gateway.put(id, body: Array(#"{"type":"task","task":"apple"}"#.utf8))
                let began = ContinuousClock.now
                while try await gateway.document(id)?.root["_attachments"] == nil {}
                waits.append(ContinuousClock.now - began)
            }
            waits.sort()
            let figures = [waits[tasks / 2], waits[tasks * 99 / 100], waits[tasks - 1]].map {
                ($0.inSeconds * 1000).formatted(decimals: 1, width: 5)
            }
            print("PUT to picture, \(tasks) tasks: p50 \(figures[0]) ms, p99 \(figures[1]) ms, worst \(figures[2]) ms")
            await gateway.shutdown()
        }
    }

    // MARK: - Processes

    private static var program: String {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent("changebot").path
    }

    private static func start(_ arguments: [String], output: Pipe? = nil) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: arguments[0])
        process.arguments = Array(arguments.dropFirst())
        if let output { process.standardOutput = output }
        try process.run()
        return process
    }

    private static func withGateway(_ body: (_ url: String, _ directory: String) async throws -> Void) async throws {
        let directory = NSTemporaryDirectory() + "changebot-bench-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let output = Pipe()
        let gateway = try start(
            [program, "gateway", "--listen", "127.0.0.1:0", "--data", directory + "/todo.sqlite"], output: output)
        defer {
            gateway.terminate()
            gateway.waitUntilExit()
        }
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let url = line.split(whereSeparator: \.isWhitespace).last else { throw CocoaError(.executableLoad) }
        try await body(String(url), directory)
    }
}

/// What a program took, from start to end.
private enum Usage {
    /// Wall time and processor time, in words.
    static func of(_ arguments: [String]) throws -> String {
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var id = pid_t()
        let began = ContinuousClock.now
        guard posix_spawn(&id, arguments[0], nil, nil, &words, environ) == 0 else { throw CocoaError(.executableLoad) }
        var status: Int32 = 0
        var usage = rusage()
        wait4(id, &status, 0, &usage)
        let wall = (ContinuousClock.now - began).inSeconds
        let processor = [usage.ru_utime, usage.ru_stime].reduce(0.0) {
            $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6
        }
        return wall.formatted(decimals: 2, width: 6) + " s wall, "
            + processor.formatted(decimals: 2, width: 5) + " s processor"
            + (status == 0 ? "" : ", ended \(status)")
    }
}

extension Duration {
    fileprivate var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
