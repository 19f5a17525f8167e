import Testing

@testable import changebot

@Suite struct TerminalStyleTests {
    @Test(
        arguments: [
            (.auto, true, nil, nil, true), (.auto, false, nil, nil, false), (.auto, true, "1", nil, false),
            (.auto, true, "", nil, true), (.auto, true, nil, "dumb", false), (.auto, true, nil, "xterm", true),
            (.always, false, "1", "dumb", true), (.never, true, nil, "xterm", false),
        ] as [(TerminalStyle.Choice, Bool, String?, String?, Bool)])
    func coloursAreForTerminalsUnlessAskedFor(
        choice: TerminalStyle.Choice, isTerminal: Bool, noColor: String?, terminal: String?, isColored: Bool
    ) {
        let style = TerminalStyle(choice, isTerminal: isTerminal, noColor: noColor, terminal: terminal)
        #expect(style.isColored == isColored)
        #expect(style.green("x") == (isColored ? "\u{1B}[32mx\u{1B}[0m" : "x"))
    }

    @Test(arguments: [
        (TerminalStyle.Choice?.none, ["CHANGEBOT_COLOR": "always", "NO_COLOR": "1"], true),
        (.never, ["CHANGEBOT_COLOR": "always"], false), (.always, ["CHANGEBOT_COLOR": "never"], true),
        (nil, ["CHANGEBOT_COLOR": "never"], false),
    ])
    func theCommandLineGoesBeforeTheEnvironment(
        choice: TerminalStyle.Choice?, environment: [String: String], isColored: Bool
    ) throws {
        let style = try ColorOption.style(choice, Environment(environment), of: .standardOutput)
        #expect(style.isColored == isColored)
    }

    @Test func everyColourEndsWhereItsTextEnds() {
        let style = TerminalStyle(.always, isTerminal: false)
        #expect(style.red("x") == "\u{1B}[31mx\u{1B}[0m")
        #expect(style.yellow("x") == "\u{1B}[33mx\u{1B}[0m")
        #expect(style.bold("x") == "\u{1B}[1mx\u{1B}[0m")
        #expect(style.dim("x") == "\u{1B}[2mx\u{1B}[0m")
        #expect(style.dim("") == "")
    }
}

@Suite struct QuantityTests {
    @Test(
        arguments: [
            (0, "0"), (999, "999"), (1000, "1,000"), (123_456, "123,456"), (1_234_567, "1,234,567"),
            (-1000, "-1,000"), (-999, "-999"), (.max, "9,223,372,036,854,775,807"),
            (.min, "-9,223,372,036,854,775,808"),
        ] as [(Int, String)])
    func counts(number: Int, text: String) { #expect(Quantity.count(number) == text) }

    @Test(
        arguments: [
            (0, "0 bytes"), (1, "1 byte"), (1023, "1,023 bytes"), (1024, "1.0 KiB"), (1536, "1.5 KiB"),
            ((1 << 20) - 1, "1,023.9 KiB"), (1 << 20, "1.0 MiB"), (31_247_564, "29.7 MiB"), (3 << 30, "3.0 GiB"),
            (.max, "8,589,934,591.9 GiB"), (-1536, "-1.5 KiB"), (.min, "-8,589,934,592.0 GiB"),
        ] as [(Int, String)])
    func sizes(bytes: Int, text: String) { #expect(Quantity.size(bytes) == text) }

    @Test(
        arguments: [
            (.zero, "0s"), (.milliseconds(59_999), "59s"), (.seconds(60), "1m 00s"), (.seconds(65), "1m 05s"),
            (.seconds(3599), "59m 59s"), (.seconds(3600), "1h 00m"), (.seconds(86399), "23h 59m"),
            (.seconds(86400 * 3 + 3600 * 4), "3d 04h"), (.seconds(-5), "0s"),
        ] as [(Duration, String)])
    func durations(duration: Duration, text: String) { #expect(Quantity.duration(duration) == text) }
}

@Suite struct VisibleTextTests {
    @Test(
        arguments: [
            ("", ""), ("plain ü 漢 😀", "plain ü 漢 😀"), ("a\nb\tc", "a\\u000ab\\u0009c"), ("\u{1B}[2J", "\\u001b[2J"),
            ("\u{7F}\u{9B}", "\\u007f\\u009b"), ("\u{202E}\u{2066}\u{200F}", "\\u202e\\u2066\\u200f"),
            ("\u{2028}\u{FEFF}\u{200B}", "\\u2028\\ufeff\\u200b"), ("\u{E0041}", "\\udb40\\udc41"),
            ("\r\n", "\\u000d\\u000a"),
        ])
    func isOnOneLineAndHidesNothing(text: String, visible: String) { #expect(text.visible == visible) }
}
