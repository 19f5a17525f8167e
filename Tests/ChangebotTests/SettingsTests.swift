import Testing

@testable import changebot

@Suite struct SettingsTests {
    @Test(
        arguments: [
            ("500ms", .milliseconds(500)), ("30", nil), ("0s", .zero), ("30s", .seconds(30)), ("5m", .seconds(300)),
            ("2h", .seconds(7200)), ("1d", .seconds(86400)), ("", nil), ("x", nil), ("5 m", nil), ("-1s", nil),
            ("5w", nil),
        ] as [(String, Duration?)])
    func timeSpans(text: String, duration: Duration?) { #expect(TimeSpan(argument: text)?.duration == duration) }

    @Test(
        arguments: [
            ("24MiB", 24 << 20), ("24M", 24 << 20), ("512k", 512 << 10), ("1GiB", 1 << 30), ("100B", 100), ("100", nil),
            ("", nil),
            ("M", nil), ("1.5M", nil), ("0", nil), ("1099511627776G", nil), ("9999999999999999999", nil),
        ] as [(String, Int?)])
    func byteSizes(text: String, bytes: Int?) { #expect(ByteSize(argument: text)?.bytes == bytes) }

    @Test(arguments: [
        ("127.0.0.1:4985", "127.0.0.1", 4985), ("[::1]:0", "::1", 0), (":80", "127.0.0.1", 80),
    ])
    func listenAddresses(text: String, host: String, port: Int) throws {
        let address = try ListenAddress(text, option: "listen")
        #expect(address.host == host)
        #expect(address.port == port)
    }

    @Test(arguments: ["", "host", "host:", "host:x", "host:70000", "host:-1"])
    func invalidListenAddresses(text: String) {
        #expect(throws: CommandError.self) { try ListenAddress(text, option: "listen") }
    }

    @Test(arguments: [
        ("http://amy:secret@h/db", "amy:secret"), ("--gateway=https://amy@h:1/db", "amy"),
        ("http://a:b@c@h/db", "a:b@c"), ("http://amy:s3/cret@h/db", "amy:s3/cret"), ("amy@h", ""), ("", ""),
        ("://", ""),
    ])
    func userInfoIsFoundInArguments(argument: String, userInfo: String) {
        let bytes = Array(argument.utf8)
        #expect(String(decoding: bytes[ProcessTitle.userInfo(in: bytes)], as: UTF8.self) == userInfo)
    }

    @Test func userInfoIsRemovedFromTexts() {
        let text = "Error: Unexpected argument 'http://u:pw@h/db'\nUsage: x"
        #expect(!ProcessTitle.redacted(text).contains("pw"))
        #expect(ProcessTitle.redacted("Usage: changebot run\n <url>") == "Usage: changebot run\n <url>")
    }

    @Test func commandLineWinsOverTheEnvironment() throws {
        let environment = Environment(["CHANGEBOT_RETRY_FOR": "7s", "CHANGEBOT_ONCE": "yes", "CHANGEBOT_EMPTY": ""])
        #expect(environment["retry-for"] == "7s")
        #expect(environment["empty"] == nil)
        let span = try environment.value(TimeSpan(argument: "1s"), "retry-for", parse: TimeSpan.init(argument:))
        #expect(span?.duration == .seconds(1))
        #expect(try environment.isOn(false, "once"))
        #expect(try !environment.isOn(false, "quiet"))
    }

    @Test func badValueInTheEnvironmentNamesTheOption() {
        let environment = Environment(["CHANGEBOT_RETRY_FOR": "soon"])
        let failure = #expect(throws: CommandError.self) {
            try environment.value(nil, "retry-for", parse: TimeSpan.init(argument:))
        }
        #expect(failure?.code == .usage)
        #expect(failure?.description.contains("CHANGEBOT_RETRY_FOR") == true)
    }
}
