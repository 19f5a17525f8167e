/// The faults of the gateway in a soak, unless `--faults` names a file.
enum DefaultFaults {
    static func json(seed: UInt64) -> String {
        """
        { "seed": \(seed % 1_000_000),
          "faults": [
            { "latency": ["0ms", "20ms"], "share": 0.1 },
            { "name": "busy", "on": "_bulk_docs", "status": { "code": 503 }, "share": 0.01 },
            { "name": "too much", "on": "_bulk_docs", "status": { "code": 429 }, "every": 997 },
            { "name": "proxy", "on": "_changes", "status": { "code": 200, "body": "<html>Sign in</html>" }, "every": 23 },
            { "name": "lost request", "on": "_bulk_docs", "drop": "before", "every": 101 },
            { "name": "lost answer", "on": "_bulk_docs", "drop": "after", "every": 89 },
            { "name": "failing documents", "on": "_bulk_docs", "refuse_documents": { "share": 0.001, "status": [503, 500] } },
            { "on": "_changes", "cut": [0, 40000], "share": 0.2 },
            { "on": ["_changes", "_all_docs"], "slice": { "bytes": 997 }, "share": 0.02 },
            { "name": "early end", "on": "_changes", "last_seq_early": 40, "share": 0.1 },
            { "duplicate": 0.05 }, { "reorder": 5 }, { "rewind": 100, "every": 10 },
            { "name": "short break", "offline": "500ms", "after": "5s" } ] }
        """
    }
}
