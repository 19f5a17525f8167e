/// One kind of feed, read once by curl and once by the program.
struct WireCase {
    static let all: [WireCase] =
        [WireCase(name: "whole")]
        + [10, 30, 100].map { (pause: Int) in WireCase(name: "paced, \(pause) µs", pause: pause) }
        + [WireCase(name: "all changed", changes: true)]

    let name: String
    /// The microseconds between two rows; nil: the feed is sent in full buffers.
    var pause: Int?
    /// Whether a rule changes every document. Otherwise the project's rules change none.
    var changes = false

    /// The targets for the medians.
    var limits: [JobLimit] {
        if changes { return [] }
        return [.compared(.processor, -.infinity...0.3)] + (pause == nil ? [] : [.own(.waits, 0...200)])
    }

    func measure(rows: Int, in directory: String, _ figures: inout Figures) throws {
        let server = try WireServer(WireFeed(pause: pause), rowCount: rows)
        defer { server.stop() }
        let jobs = Jobs(url: server.url, directory: directory)
        let curl = try jobs.curl(Jobs.feed, documents: rows)
        let rules = changes ? try RuleFiles.write(1, in: directory) { _ in "" } : Program.shippedRules
        let result = try jobs.run(rules, documents: rows, written: changes ? rows : 0)
        JobMeasure.add(result, beside: curl, of: name, to: &figures)
    }
}
