import Testing

@testable import changebot

@Suite struct TerminalStyleTests {
    @Test(
        arguments: [
            (.auto, true, nil, nil, true), (.auto, false, nil, nil, false), (.auto, true, "1", nil, false),
            (.auto, true, "", nil, true), (.auto, true, nil, "dumb", false), (.auto, true, nil, "xterm", true),
            (.always, false, "1", "dumb", true), (.never, true, nil, "xterm", false),
        ] as [(TerminalStyle.Choice, Bool, String?, String?, Bool)])
    func coloursAreForTerminalsUnlessRequested(
        choice: TerminalStyle.Choice, isTerminal: Bool, noColor: String?, terminal: String?, isColored: Bool
    ) {
        let style = TerminalStyle(choice, isTerminal: isTerminal, noColor: noColor, terminal: terminal)
        #expect(style.isColored == isColored)
        #expect(style.green("x").text == (isColored ? "\u{1B}[32mx\u{1B}[0m" : "x"))
    }

    @Test(arguments: [
        (TerminalStyle.Choice?.none, ["CHANGEBOT_COLOR": "always", "NO_COLOR": "1"], true),
        (.never, ["CHANGEBOT_COLOR": "always"], false), (.always, ["CHANGEBOT_COLOR": "never"], true),
        (nil, ["CHANGEBOT_COLOR": "never"], false),
    ])
    func commandLineOverridesTheEnvironment(
        choice: TerminalStyle.Choice?, environment: [String: String], isColored: Bool
    ) throws {
        let style = try ColorOption.style(choice, Environment(environment), of: .standardOutput)
        #expect(style.isColored == isColored)
    }

    @Test func eachColourEndsWithItsText() {
        let style = TerminalStyle(.always, isTerminal: false)
        #expect(style.red("x").text == "\u{1B}[31mx\u{1B}[0m")
        #expect(style.yellow("x").text == "\u{1B}[33mx\u{1B}[0m")
        #expect(style.bold("x").text == "\u{1B}[1mx\u{1B}[0m")
        #expect(style.dim("x").text == "\u{1B}[2mx\u{1B}[0m")
        #expect(style.dim("").text == "")
    }
}

@Suite struct QuantityTests {
    @Test(
        arguments: [
            (0, "0"), (999, "999"), (1000, "1,000"), (123_456, "123,456"), (1_234_567, "1,234,567"),
            (-1000, "-1,000"), (-999, "-999"), (.max, "9,223,372,036,854,775,807"),
            (.min, "-9,223,372,036,854,775,808"),
        ] as [(Int, String)])
    func countsAreWrittenWithSeparators(number: Int, text: String) { #expect(Quantity.count(number) == text) }

    @Test(
        arguments: [
            (0, "0 bytes"), (1, "1 byte"), (1023, "1,023 bytes"), (1024, "1.0 KiB"), (1536, "1.5 KiB"),
            ((1 << 20) - 1, "1,023.9 KiB"), (1 << 20, "1.0 MiB"), (31_247_564, "29.7 MiB"), (3 << 30, "3.0 GiB"),
            (.max, "8,589,934,591.9 GiB"), (-1536, "-1.5 KiB"), (.min, "-8,589,934,592.0 GiB"),
        ] as [(Int, String)])
    func sizesHaveUnits(bytes: Int, text: String) { #expect(Quantity.size(bytes) == text) }

    @Test(
        arguments: [
            (.zero, "0s"), (.milliseconds(59_999), "59s"), (.seconds(60), "1m 00s"), (.seconds(65), "1m 05s"),
            (.seconds(3599), "59m 59s"), (.seconds(3600), "1h 00m"), (.seconds(86399), "23h 59m"),
            (.seconds(86400 * 3 + 3600 * 4), "3d 04h"), (.seconds(-5), "0s"),
        ] as [(Duration, String)])
    func durationsHaveUnits(duration: Duration, text: String) { #expect(Quantity.duration(duration) == text) }
}

@Suite struct VisibleTextTests {
    @Test(
        arguments: [
            ("", ""), ("plain ü 漢 😀", "plain ü 漢 😀"), ("a\nb\tc", "a\\u000ab\\u0009c"), ("\u{1B}[2J", "\\u001b[2J"),
            ("\u{7F}\u{9B}", "\\u007f\\u009b"), ("\u{202E}\u{2066}\u{200F}", "\\u202e\\u2066\\u200f"),
            ("\u{2028}\u{FEFF}\u{200B}", "\\u2028\\ufeff\\u200b"), ("\u{E0041}", "\\udb40\\udc41"),
            ("\r\n", "\\u000d\\u000a"),
        ])
    func visibleTextIsOneLineAndHidesNothing(text: String, visible: String) {
        #expect(text.visible == visible)
        #expect(VisibleLine(text).text == visible)
        let style = TerminalStyle(.always, isTerminal: false)
        #expect(text.isEmpty || style.red(text).text == "\u{1B}[31m\(visible)\u{1B}[0m")
    }

    /// Every control character, every character that changes the direction of text, every line separator.
    @Test func noControlCharacterIsPrinted() {
        let hidden =
            Array(0...0x1F) + Array(0x7F...0x9F) + [0x61C, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029]
            + Array(0x202A...0x202E) + Array(0x2066...0x2069) + [0xFEFF, 0xFFF9, 0xE0001]
        for value in hidden.compactMap({ Unicode.Scalar(UInt32($0)) }) {
            #expect(!String(value).visible.unicodeScalars.contains(value), "\(value.value)")
        }
    }

    @Test func visibleJSONIsEquivalentWithoutControlCharacters() throws {
        let json = "{\"a\u{9B}\":\"\u{7F}ü\u{202E}😀\u{2028}\u{E0041}\"}\n[1]"
        let text = String(decoding: Array(json.utf8).visibleJSON, as: UTF8.self)
        #expect(
            text == #"{"a\u009b":"\u007fü\u202e😀\u2028\udb40\udc41"}"# + "\n[1]")
    }
}
