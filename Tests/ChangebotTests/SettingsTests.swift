import Foundation
import Testing

@testable import changebot

@Suite struct SettingsTests {
    @Test(
        arguments: [
            ("500ms", .milliseconds(500)), ("30", nil), ("0s", .zero), ("30s", .seconds(30)), ("5m", .seconds(300)),
            ("2h", .seconds(7200)), ("1d", .seconds(86400)), ("", nil), ("x", nil), ("5 m", nil), ("-1s", nil),
            ("5w", nil),
        ] as [(String, Duration?)])
    func timeSpansAreParsed(text: String, duration: Duration?) {
        #expect(TimeSpan(argument: text)?.duration == duration)
    }

    @Test(
        arguments: [
            ("24MiB", 24 << 20), ("24M", 24 << 20), ("512k", 512 << 10), ("1GiB", 1 << 30), ("100B", 100), ("100", nil),
            ("", nil),
            ("M", nil), ("1.5M", nil), ("0", nil), ("1099511627776G", nil), ("9999999999999999999", nil),
        ] as [(String, Int?)])
    func byteSizesAreParsed(text: String, bytes: Int?) { #expect(ByteSize(argument: text)?.bytes == bytes) }

    @Test(arguments: [
        ("127.0.0.1:4985", "127.0.0.1", 4985), ("[::1]:0", "::1", 0), (":80", "127.0.0.1", 80),
    ])
    func listenAddressesAreParsed(text: String, host: String, port: Int) throws {
        let address = try ListenAddress(text, option: "listen")
        #expect(address.host == host)
        #expect(address.port == port)
    }

    @Test(arguments: ["", "host", "host:", "host:x", "host:70000", "host:-1"])
    func invalidListenAddressesAreRefused(text: String) {
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

    @Test(arguments: [
        (
            "Error: Missing expected argument '<file>'", ["import"],
            "write the file without an option: changebot import FILE"
        ),
        (
            "Error: Unknown option '--file'. Did you mean '--ca-file'?", ["import", "--file", "a"],
            "changebot import FILE"
        ),
        ("Error: Unexpected argument 'b'", ["verify", "a", "b"], "verify reads one file: call it once for each"),
        (
            "Error: Unexpected argument 'a'", ["verify", "http://h/d", "a"],
            "verify reads one file: call it once for each"
        ),
        ("Error: Unexpected argument 'http://h/d'", ["run", "http://h/d"], "name the gateway with --gateway URL"),
    ])
    func misplacedArgumentHasARemedy(message: String, arguments: [String], remedy: String) {
        #expect(MisplacedArgument(message, arguments)?.remedy.contains(remedy) == true)
    }

    @Test func misplacedFileIsRecognised() async throws {
        try await Program.withDirectory { folder in
            let (rules, configuration) = (folder + "/r.yaml", folder + "/c.yaml")
            try Data("version: 1\nrules:\n  - {name: a, when: {}, then: []}\n".utf8)
                .write(to: URL(fileURLWithPath: rules))
            try Data("version: 1\nbots:\n  - {name: a}\n".utf8).write(to: URL(fileURLWithPath: configuration))
            func remedy(_ path: String) -> String? {
                MisplacedArgument("Error: Unexpected argument '\(path)'", ["run", path])?.remedy
            }
            #expect(remedy(rules) == "name rules with --rules \(rules)")
            #expect(remedy(configuration) == "name a configuration file with --config \(configuration)")
            #expect(remedy(folder) == "name rules with --rules \(folder)")
            #expect(remedy(folder + "/none") == nil)
        }
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
