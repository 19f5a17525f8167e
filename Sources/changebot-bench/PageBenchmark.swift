internal import Foundation
internal import GatewayClient
internal import LosslessJSON
internal import TestKit

/// Measures what watching a bot costs: a catch-up over 50,000 documents, all of which match, without the page, with it,
/// and with many readers.
///
/// Needs the program beside this one (`swift build -c release`).
enum PageBenchmark {
    private static let documents = 50_000
    /// Others work on the machine, too: the median of so many runs of each kind counts.
    private static let rounds = 5
    private static let rules = """
        version: 1
        rules:
          - name: stamp
            when: { type: task, done: { $exists: false } }
            then: [{ merge: { done: true } }]
        """

    private enum Watching: String, CaseIterable {
        case nobody = "without --http"
        case page = "with --http"
        case readers = "100 pages, 100 that never read"
    }

    static func run() async -> Bool {
        Program.require([])
        var figures = Figures()
        do {
            // In turn, so that a change of the machine's load hits all kinds.
            for _ in 0..<rounds {
                for watching in Watching.allCases { try await measure(watching, &figures) }
            }
        } catch {
            print("can't measure: \(error)")
            return false
        }
        print("\(documents) documents, all matching; the median of \(rounds) runs each")
        for watching in Watching.allCases {
            func median(_ measure: String) -> Double { figures.median(measure, of: watching.rawValue) ?? 0 }
            let rate = Double(documents) / median("wall time")
            print(
                "  " + watching.rawValue.padded(to: 32) + rate.formatted(decimals: 0, width: 7) + " documents/s, "
                    + median("processor time").formatted(decimals: 2, width: 5) + " s processor, peak "
                    + median("peak memory").formatted(decimals: 1, width: 5) + " MiB"
                    + (watching == .readers ? ", \(median("read").formatted(decimals: 1, width: 1)) MiB read" : ""))
        }
        return true
    }

    private static func measure(_ watching: Watching, _ figures: inout Figures) async throws {
        var result = figures
        try await Program.withGateway { url, directory in
            try Data(rules.utf8).write(to: URL(fileURLWithPath: directory + "/r.yaml"))
            let gateway = Gateway(try GatewayURL(url))
            for start in stride(from: 0, to: documents, by: 1000) {
                _ = try await gateway.bulkDocs((start..<start + 1000).map(task))
            }
            await gateway.shutdown()
            let summary = directory + "/summary.json"
            let port = try FreePort.find()
            let readers = PageReaders(port: port, open: 100, silent: 100)
            let reading = watching == .readers ? Task { await readers.run() } : nil
            let usage = try Usage(
                of: [
                    Program.path, "run", "--once", "--quiet", "--gateway", url, "--rules", directory + "/r.yaml",
                    "--state", directory + "/state", "--summary", summary,
                ] + (watching == .nobody ? [] : ["--http", "127.0.0.1:\(port)"]))
            reading?.cancel()
            let read = await reading?.value ?? 0
            guard usage.status == 0, Program.integer("written", of: summary) == documents else {
                throw BenchmarkError("the program failed")
            }
            for (measure, unit, value) in [
                ("wall time", "s", usage.wall), ("processor time", "s", usage.processor),
                ("peak memory", "MiB", Double(Program.integer("peak_memory", of: summary)) / 1_048_576),
                ("read", "MiB", Double(read) / 1_048_576),
            ] {
                result.add(value, measure, unit: unit, of: watching.rawValue)
            }
        }
        figures = result
    }

    private static func task(_ number: Int) -> BulkDocument {
        let id = "task-\(number)"
        let body = #"{"_id":"\#(id)","type":"task","task":"thing \#(number)","createdAt":"2026-11-20T10:00:00.000Z"}"#
        return BulkDocument(id: DocumentID(id), segments: [Array(body.utf8)])
    }
}
