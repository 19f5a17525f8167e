internal import GatewayClient

/// Documents of 10 KiB and of 5 MiB: a feed of nothing else, read with a rule that matches none of them, and with one
/// that changes all.
///
/// A plain client writes them first, so that the feed after that point has only these. So this costs the same whatever
/// else the keyspace holds.
struct LargeDocuments {
    let jobs: GatewayJobs
    /// The number of tasks. There are a tenth as many documents of 10 KiB, and a 5,000th as many of 5 MiB.
    let documents: Int

    func measure(_ rounds: inout RoundNumbers, _ figures: inout Figures) async throws {
        for (name, bytes, count) in [("10k", 10 << 10, documents / 10), ("5m", 5 << 20, max(2, documents / 5000))] {
            let (before, after) = (rounds.next(), rounds.next())
            let bulks = PlainClient.bulks(try await prepared(name, bytes: bytes, count: count, round: before))
            let since = try await jobs.keyspace.newestSequence()
            let written: JobResult
            do { written = try await jobs.keyspace.plain.write(bulks) } catch {
                print("  large-\(name): the server does not accept them: \(error)")
                continue
            }
            try await Task.sleep(for: .seconds(1))
            let curl = try jobs.curl(
                "/_changes?include_docs=true&since=\(PlainClient.escaped(since.queryValue))", documents: count)
            let reading = try jobs.run(try jobs.uselessRules(1), since: since.queryValue, .init(documents: count))
            figures.add(reading, beside: curl, of: "large-\(name), none")
            let writing = try jobs.run(
                try jobs.rule(round: after, type: "large-\(name)"), since: since.queryValue,
                .init(documents: count, written: count))
            figures.add(writing, beside: written, of: "large-\(name), all")
        }
    }

    /// Documents with their current revisions.
    private func prepared(_ name: String, bytes: Int, count: Int, round: Int) async throws -> [[UInt8]] {
        let ids = (0..<count).map {
            DocumentID("\(BenchmarkKeyspace.largePrefix)\(name)-\(BenchmarkKeyspace.digits($0))")
        }
        let paragraph = "lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt "
        let text = String(repeating: paragraph, count: bytes / paragraph.utf8.count)
        var lookups: [DocumentLookup] = []
        for start in stride(from: 0, to: count, by: 500) {
            let keys = Array(ids[start..<min(start + 500, count)])
            lookups += try await jobs.keyspace.gateway.allDocs(keys: keys, includesBodies: false)
        }
        return zip(ids, lookups).map { id, lookup in
            var revision = ""
            if case .found(let current, _) = lookup { revision = #""_rev":"\#(current.text)","# }
            return Array(
                #"{"_id":"\#(id.text)",\#(revision)"type":"large-\#(name)","round":\#(round),"text":"\#(text)"}"#.utf8)
        }
    }
}
