import CoreMetrics
import Monitoring
import Testing

@Suite struct PrometheusTextTests {
    private let registry = PrometheusRegistry([
        MetricFamily("changes_total", .counter, "Rows of the feed."),
        MetricFamily("lag", .gauge, "How far behind.\nIn \\ sequences."),
        MetricFamily("write_seconds", .histogram(bounds: [0.1, 1]), "Time of a write."),
        MetricFamily("unused_total", .counter, "Never counted."),
    ])

    private var lines: [String] {
        String(decoding: registry.text(), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test func familiesAreWrittenInDescribedOrderWithHelpAndType() {
        Meter(label: "lag", factory: registry).set(2.5)
        Counter(label: "changes_total", factory: registry).increment(by: 3)
        #expect(
            lines == [
                "# HELP changes_total Rows of the feed.", "# TYPE changes_total counter", "changes_total 3",
                #"# HELP lag How far behind.\nIn \\ sequences."#, "# TYPE lag gauge", "lag 2.5",
            ])
    }

    @Test func histogramCountsValueInAllBucketsAboveIt() {
        let timer = Timer(label: "write_seconds", dimensions: [("bot", "b")], factory: registry)
        for nanoseconds in [100_000_000, 100_000_001, 5_000_000_000] as [Int64] { timer.recordNanoseconds(nanoseconds) }
        #expect(
            lines.dropFirst(2) == [
                #"write_seconds_bucket{bot="b",le="0.1"} 1"#, #"write_seconds_bucket{bot="b",le="1"} 2"#,
                #"write_seconds_bucket{bot="b",le="+Inf"} 3"#, #"write_seconds_sum{bot="b"} 5.200000001"#,
                #"write_seconds_count{bot="b"} 3"#,
            ])
    }

    @Test func labelsAreSortedAndEscaped() {
        let value = "a\"b\\c\nd\u{1}é"
        Counter(label: "changes_total", dimensions: [("rule", value), ("bot", "x")], factory: registry).increment()
        Counter(label: "changes_total", dimensions: [("bot", "a"), ("rule", "r")], factory: registry).increment()
        #expect(
            lines.dropFirst(2) == [
                #"changes_total{bot="a",rule="r"} 1"#,
                "changes_total{bot=\"x\",rule=\"a\\\"b\\\\c\\nd\u{1}é\"} 1",
            ])
    }

    @Test func metricsWithTheSameLabelsAreOneSeries() {
        let first = Counter(label: "changes_total", dimensions: [("a", "1"), ("b", "2")], factory: registry)
        let second = Counter(label: "changes_total", dimensions: [("b", "2"), ("a", "1")], factory: registry)
        first.increment()
        first.destroy()
        second.increment()
        #expect(lines.last == #"changes_total{a="1",b="2"} 2"#)
    }

    @Test func metricWithoutDescriptionIsWritten() {
        Counter(label: "9 lives.of-cats", factory: registry).increment(by: 9)
        #expect(
            lines == ["# HELP __lives_of_cats 9 lives.of-cats", "# TYPE __lives_of_cats counter", "__lives_of_cats 9"])
    }

    @Test func seriesAboveLimitAreCountedTogether() {
        for number in 0..<PrometheusRegistry.seriesLimit + 5 {
            Counter(label: "changes_total", dimensions: [("rule", "r\(number)")], factory: registry).increment()
        }
        #expect(lines.count == 2 + PrometheusRegistry.seriesLimit + 1)
        #expect(lines.contains(#"changes_total{rule="other"} 5"#))
    }

    @Test(
        arguments: [
            (0, "0"), (-1, "-1"), (0.1, "0.1"), (1e15, "1000000000000000"), (1e16, "1e+16"), (.infinity, "+Inf"),
            (-.infinity, "-Inf"), (.nan, "NaN"), (1.5e-7, "1.5e-07"),
        ] as [(Double, String)])
    func numbersAreWritten(_ number: Double, _ text: String) {
        Meter(label: "lag", factory: registry).set(number)
        #expect(lines.last == "lag \(text)")
    }

    @Test func nanDoesNotDistortHistogram() {
        let recorder = Recorder(label: "write_seconds", factory: registry)
        recorder.record(Double.nan)
        recorder.record(0.5)
        #expect(lines.suffix(2) == ["write_seconds_sum 0.5", "write_seconds_count 1"])
    }
}
