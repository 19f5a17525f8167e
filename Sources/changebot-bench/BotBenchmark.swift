internal import Foundation
internal import GatewayClient
internal import LosslessJSON

/// Measures the program against an embedded gateway, each as a process: a catch-up over 100,000 changes, and how long a
/// task waits for its picture.
///
/// Needs the program beside this one (`swift build -c release`), and the project's folder as the working directory.
enum BotBenchmark {
    private static let documents = 100_000
    private static let tasks = 200
    private static let rules = "rules/attach-images.yaml"

    static func run() async -> Bool {
        Program.require([rules])
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
        try await Program.withGateway { url, directory in
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
                    Program.path, "run", "--once", "--quiet", "--gateway", url, "--rules", rules, "--state",
                    directory + state, "--summary", summary,
                ])
                print("  " + label + usage + ", peak " + Program.peakMemory(summary) + " MiB")
            }
            await gateway.shutdown()
        }
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

    /// Measures the time from the answer to a PUT until another client of the feed sees the picture.
    private static func latency() async throws {
        try await Program.withGateway { url, directory in
            let bot = try Program.start([
                Program.path, "run", "--quiet", "--gateway", url, "--rules", rules, "--state",
                directory + "/c",
            ])
            defer { bot.terminate() }
            let gateway = Gateway(try GatewayURL(url))
            var waits: [Duration] = []
            for number in 0..<tasks {
                let id = DocumentID("latency-\(number)")
                try await gateway.put(id, body: Array(#"{"type":"task","task":"apple"}"#.utf8))
                let began = ContinuousClock.now
                while try await gateway.document(id)?.root["_attachments"] == nil {
                    guard bot.isRunning else { throw BenchmarkError("the program failed") }
                }
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
}
