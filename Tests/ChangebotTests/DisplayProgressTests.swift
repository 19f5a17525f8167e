import Locking
import Logging
import LosslessJSON
import TestKit
import Testing

@testable import changebot

@Suite struct ProgressStateTests {
    @Test(
        arguments: [
            (ProgressState(), "0 documents"),
            (ProgressState(count: 1), "1 document"),
            (ProgressState(count: 500, elapsed: .milliseconds(900)), "500 documents"),
            (ProgressState(count: 12345, elapsed: .seconds(10)), "12,345 documents  1,234/s  10s"),
            (ProgressState(count: 5, bytes: 1536, elapsed: .seconds(2)), "5 documents  2.5/s  1.5 KiB  2s"),
            (
                ProgressState(count: 250, total: 1000, bytes: 3 << 20, elapsed: .seconds(25)),
                "25%  250 of 1,000 documents  10/s  3.0 MiB  1m 15s left"
            ),
            (ProgressState(count: 29, total: 100), "29%  29 of 100 documents"),
            (ProgressState(count: 0, total: 2325, isEstimate: true), "0%  0 of about 2,325 documents"),
            (ProgressState(count: 999_999, total: 1_000_000), "99%  999,999 of 1,000,000 documents"),
            // More documents than at the start.
            (ProgressState(count: 12, total: 10, elapsed: .seconds(3)), "100%  12 of 10 documents  4.0/s  3s"),
            (ProgressState(count: 0, total: 0, elapsed: .seconds(3)), "100%  0 of 0 documents  3s"),
            (
                ProgressState(count: .max, total: .max, elapsed: .seconds(1)),
                "100%  9,223,372,036,854,775,807 of 9,223,372,036,854,775,807 documents"
                    + "  9,223,372,036,854,775,807/s  1s"
            ),
        ] as [(ProgressState, String)])
    func progressIsShownInWords(state: ProgressState, text: String) { #expect(state.text == text) }

    private static let half = ProgressState(count: 500, total: 1000, bytes: 3 << 20, elapsed: .seconds(50))

    @Test(
        arguments: [
            (120, "[###############---------------]  50%  500 of 1,000 documents  10/s  3.0 MiB  50s left"),
            (70, "[#######-------]  50%  500 of 1,000 documents  10/s  3.0 MiB  50s left"),
            (64, "50%  500 of 1,000 documents  10/s  3.0 MiB  50s left"),
            (51, "50%  500 of 1,000 documents  10/s  50s left"),
            (43, "50%  500 of 1,000 documents  10/s  50s left"),
            (37, "50%  500 of 1,000 documents  50s left"),
            (30, "50%  500 of 1,000 documents"),
            (10, "50%  500 o"), (0, ""), (-1, ""),
        ] as [(Int, String)])
    func progressFitsTheWidth(width: Int, line: String) {
        #expect(Self.half.line(width: width) == line)
        #expect(line.count <= max(0, width))
    }

    @Test func progressWithoutATotalHasNoBar() {
        #expect(ProgressState(count: 7, elapsed: .seconds(7)).line(width: 120) == "7 documents  1.0/s  7s")
    }
}

@Suite struct ProgressPacingTests {
    private func shown(_ form: ProgressPacing.Form, at milliseconds: [Int]) -> [Int] {
        var pacing = ProgressPacing(form)
        return milliseconds.filter { pacing.isDue(at: .milliseconds($0)) }
    }

    @Test func terminalIsRedrawnTenTimesASecond() {
        #expect(shown(.redrawn, at: [0, 1, 99, 100, 150, 199, 200, 1000, 1099]) == [0, 100, 200, 1000])
    }

    @Test func fileGetsALineEveryFiveSeconds() {
        #expect(shown(.lines, at: [0, 100, 4999, 5000, 9999, 10_000, 60_000]) == [5000, 10_000, 60_000])
    }

    @Test func quietShowsNoProgress() { #expect(shown(.none, at: [0, 5000, 60_000]) == []) }

    @Test(arguments: [
        (true, nil, false, ProgressPacing.Form.redrawn), (true, "dumb", false, .lines), (false, nil, false, .lines),
        (true, nil, true, .none),
    ])
    func progressFormFollowsTheTerminal(isTerminal: Bool, terminal: String?, isQuiet: Bool, form: ProgressPacing.Form) {
        let style = TerminalStyle(.never, isTerminal: isTerminal, terminal: terminal)
        #expect(ProgressPacing(style, isQuiet: isQuiet, format: .text).form == form)
    }

    @Test(arguments: [(true, false, ProgressPacing.Form.json), (false, false, .json), (true, true, .none)])
    func progressIsJSONWhereTheLogIs(isTerminal: Bool, isQuiet: Bool, form: ProgressPacing.Form) {
        let style = TerminalStyle(.auto, isTerminal: isTerminal)
        #expect(ProgressPacing(style, isQuiet: isQuiet, format: .json).form == form)
    }

    @Test(arguments: [
        (true, StandardErrorLog.Format.text, ProgressPacing.Form.redrawn), (false, .text, .none), (true, .json, .none),
        (false, .json, .none),
    ])
    func progressLinesHaveLevelInfo(
        isTerminal: Bool, format: StandardErrorLog.Format, form: ProgressPacing.Form
    ) {
        let style = TerminalStyle(.never, isTerminal: isTerminal)
        for level in [Logger.Level.notice, .error] {
            #expect(ProgressPacing(style, isQuiet: false, level: level, format: format).form == form)
        }
        #expect(ProgressPacing(style, isQuiet: false, level: .debug, format: format).form != .none)
    }
}

/// The output on stderr, call by call.
private struct Recording {
    let output: StandardErrorOutput
    private let calls: Monitor<[String]>

    init() {
        let calls = Monitor<[String]>([])
        self.calls = calls
        output = StandardErrorOutput { bytes in calls.with { $0.append(String(decoding: bytes, as: UTF8.self)) } }
    }

    /// The calls since the previous one.
    func take() -> [String] {
        calls.with { calls in
            defer { calls = [] }
            return calls
        }
    }

    func note(_ text: String) { calls.with { $0.append(text) } }
}

@Suite struct ProgressLineTests {
    private let clear = "\r\u{1B}[K"

    @Test func logLinesAppearAboveTheProgress() {
        let recording = Recording()
        let elapsed = Monitor(Duration.zero)
        let progress = ProgressLine(
            ProgressPacing(.redrawn), output: recording.output, elapsed: { elapsed.with { $0 } }, width: { 30 })
        recording.output.write(Array("before\n".utf8))
        progress.show(count: 5)
        progress.show(count: 6)
        #expect(recording.take() == ["before\n", clear + "5 documents"])
        recording.output.write(Array("log\n".utf8))
        #expect(recording.take() == [clear + "log\n5 documents"])
        elapsed.with { $0 = .milliseconds(100) }
        progress.show(count: 7)
        recording.output.hidingStatusLine { recording.note("data\n") }
        #expect(recording.take() == [clear + "7 documents", clear, "data\n", "7 documents"])
        progress.finish()
        progress.finish()
        recording.output.write(Array("after\n".utf8))
        #expect(recording.take() == [clear, "after\n"])
    }

    @Test func lastColumnStaysFree() {
        let recording = Recording()
        let progress = ProgressLine(
            ProgressPacing(.redrawn), output: recording.output, elapsed: { .zero }, width: { 11 })
        progress.show(count: 5)
        #expect(recording.take() == [clear + "5 document"])
    }

    @Test func dumbTerminalGetsLines() {
        let recording = Recording()
        let elapsed = Monitor(Duration.zero)
        let progress = ProgressLine(
            ProgressPacing(.lines), output: recording.output, elapsed: { elapsed.with { $0 } }, width: { 80 })
        for seconds in 0...11 {
            elapsed.with { $0 = .seconds(seconds) }
            progress.show(count: seconds * 100, total: 1200)
        }
        progress.finish()
        #expect(
            recording.take() == [
                "41%  500 of 1,200 documents  100/s  7s left\n", "83%  1,000 of 1,200 documents  100/s  2s left\n",
            ])
    }

    @Test func jsonProgressIsAnObjectPerLine() throws {
        let recording = Recording()
        let elapsed = Monitor(Duration.zero)
        let progress = ProgressLine(
            ProgressPacing(.json), output: recording.output, elapsed: { elapsed.with { $0 } }, width: { 80 })
        elapsed.with { $0 = .seconds(5) }
        progress.show(count: 500, total: 1200, bytes: 7)
        progress.finish()
        let calls = recording.take()
        #expect(calls.count == 1)
        let line = try JSONText(String(try #require(calls.first).dropLast())).root
        #expect(line["message"]?.string == "progress" && line["documents"]?.integer == 500)
        #expect(line["total"]?.integer == 1200 && line["bytes"]?.integer == 7 && line["seconds"]?.integer == 5)
    }

    @Test func quietPrintsNothing() {
        let recording = Recording()
        let progress = ProgressLine(
            ProgressPacing(.none), output: recording.output, elapsed: { .seconds(60) }, width: { 80 })
        progress.show(count: 1)
        progress.finish()
        recording.output.hidingStatusLine { recording.note("data\n") }
        #expect(recording.take() == ["data\n"])
    }
}
