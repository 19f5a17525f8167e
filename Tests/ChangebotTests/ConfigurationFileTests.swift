import AccessTokens
import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

@testable import changebot

/// What a configuration file may contain, the precedence of its settings, and the messages about mistakes.
@Suite struct ConfigurationFileTests {
    /// Reads a file with this content.
    private func read(_ text: String, name: String = "changebot.yaml") throws -> ConfigurationFile {
        let folder = NSTemporaryDirectory() + "changebot-config-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/" + name))
        return try ConfigurationFile.read(folder + "/" + name)
    }

    @Test(
        arguments: [
            ("gateway: x", 1, 1, "'version' is missing"),
            ("version: 2\n", 1, 10, "only configuration files with 'version: 1'"),
            ("version: 1\ngatevay: x\n", 2, 1, "'gatevay' is not known to this version: did you mean 'gateway'?"),
            ("version: 1\nxyzxyz: 1\n", 2, 1, "'xyzxyz' is not known to this version; known here: name, "),
            (
                "version: 1\nrules:\n  - {name: a, when: {}, then: []}\n", 1, 1,
                "these are rules, not a configuration file"
            ),
            ("{\"_id\":\"a\"}\n{\"_id\":\"b\"}\n", 1, 1, "these are documents, not a configuration file"),
            ("version: 1\nretry-for: 5m\n", 2, 1, "'retry-for' is not known to this version; write 'retry_for'"),
            ("version: 1\npassword: x\n", 2, 1, "a secret does not belong in this file: write 'password_file'"),
            ("version: 1\ntoken: x\n", 2, 1, "'token_file'"),
            ("version: 1\ngateway:\n", 2, 9, "'gateway' has no value"),
            ("version: 1\ngateway: ''\n", 2, 10, "'gateway' is empty"),
            ("version: 1\ngateway: [a]\n", 2, 10, "'gateway' must be text, not a list"),
            ("version: 1\nonce: 1\n", 2, 7, "'once' must be true or false, not a number"),
            ("version: 1\nrules: [a, 1]\n", 2, 8, "'rules' must be a string or a list of strings"),
            ("version: 1\nrules: []\n", 2, 8, "'rules' is an empty list"),
            ("version: 1\nbots:\n  - name: a\n  - name: fix-a\n", 4, 11, "rename this bot or 'a' (line 3)"),
            (
                "version: 1\nbots:\n  - name: fix-a\n  - name: a\n", 4, 11,
                "'fix' of the bot 'a' keeps its state under the name 'fix-a', which another bot has; "
                    + "rename this bot or 'fix-a' (line 3)"
            ),
            ("version: 1\nbots: {}\n", 2, 7, "'bots' must be a list of bots"),
            ("version: 1\nbots: []\n", 2, 7, "'bots' must be a list of bots"),
            ("version: 1\nbots: [a]\n", 2, 8, "a bot must be an object, not text"),
            ("version: 1\nbots:\n  - gateway: x\n", 3, 5, "the bot has no 'name'; write one"),
            ("version: 1\nname: a\nbots:\n  - name: b\n", 2, 7, "each bot has its own 'name'"),
            ("version: 1\nsummary: a\nbots:\n  - name: b\n", 2, 10, "each bot has its own 'summary'"),
            ("version: 1\nbots:\n  - name: a\n    state: s\n", 4, 5, "'state' applies to the whole process"),
            ("version: 1\nbots:\n  - name: a\n  - name: a\n", 4, 11, "another bot is also named 'a' (line 3)"),
            ("version: 1\nversion: 1\n", 1, 1, "the key 'version' appears twice"),
            ("- a\n", 1, 1, "must be an object"), ("", 1, 1, "the file is empty"),
            ("version: 1\nbots: [\n", 3, 1, "not YAML"),
        ] as [(String, Int, Int, String)])
    func mistakeNamesItsPlace(text: String, line: Int, column: Int, part: String) throws {
        let failure = try #require(#expect(throws: CommandError.self) { try read(text) })
        #expect(failure.code == .badConfiguration)
        #expect(
            failure.messages.contains { $0.contains("changebot.yaml:\(line):\(column): ") && $0.contains(part) },
            "\(failure.messages)")
    }

    @Test func allMistakesAreReportedAtOnce() throws {
        let failure = #expect(throws: CommandError.self) {
            try read("version: 3\nx: 1\nbots:\n  - {}\n  - name: a\n    y: 2\n")
        }
        #expect(failure?.messages.count == 4, "\(failure?.messages ?? [])")
    }

    @Test func missingFileIsMissingInput() {
        let failure = #expect(throws: CommandError.self) { try ConfigurationFile.read("/nonexistent/changebot.yaml") }
        #expect(failure?.code == .missingInput)
    }

    @Test func fileWithoutBotsIsOneBot() throws {
        let file = try read("version: 1\ngateway: http://h/db\nrules: r.yaml\n")
        #expect(file.bots.map(\.name) == ["changebot"])
        #expect(file.bots[0].settings["gateway"]?.texts == ["http://h/db"])
    }

    @Test func pathsAreRelativeToTheFile() throws {
        let file = try read(
            """
            version: 1
            state: s
            bots:
              - {name: a, rules: [r, /abs/r.yaml], password_file: p, gateway: "embedded:d/g.sqlite"}
              - {name: b, gateway: "embedded:"}
            """)
        let folder = String(file.path.dropLast("/changebot.yaml".count))
        #expect(file.common["state"]?.texts == [folder + "/s"])
        let bot = file.bots[0].settings
        #expect(bot["rules"]?.texts == [folder + "/r", "/abs/r.yaml"])
        #expect(bot["password_file"]?.texts == [folder + "/p"])
        #expect(bot["gateway"]?.texts == ["embedded:\(folder)/d/g.sqlite"])
        #expect(file.bots[1].settings["gateway"]?.texts == ["embedded:"])
    }

    @Test func variablesOverrideTheFileAndABotOverridesAllBots() throws {
        let file = try read(
            "version: 1\nretry_for: 1s\nfeed: continuous\nbots:\n  - {name: a, retry_for: 2s}\n  - name: b\n")
        let variables = Environment(["CHANGEBOT_FEED": "longpoll"])
        let environments = file.bots.map { variables.with(file, bot: $0) }
        #expect(environments.map { $0["retry-for"] } == ["2s", "1s"])
        #expect(environments[0]["feed"] == "longpoll")
        #expect(environments[0].source(of: "feed") == .variable("CHANGEBOT_FEED"))
        #expect(environments[1].source(of: "retry-for") == .file(place: "\(file.path):2:12", key: "retry_for"))
    }

    @Test func invalidValueNamesItsPlace() throws {
        let file = try read("version: 1\nretry_for: soon\nchannels: [a, b]\n")
        let environment = Environment([:]).with(file, bot: file.bots[0])
        let failure = #expect(throws: CommandError.self) {
            try environment.value(nil, "retry-for", parse: TimeSpan.init(argument:))
        }
        #expect(failure?.code == .badConfiguration)
        #expect(failure?.description.hasPrefix("\(file.path):2:12: 'retry_for' is not valid: 'soon'; write") == true)
        let channels = try environment.value(nil, "channels", parse: ChannelList.init(argument:))
        #expect(channels?.names == ["a", "b"])
    }

    @Test func otherCommandsIgnoreSettingsOfRun() throws {
        let file = try read("version: 1\nsince: now\nsummary: s\ngateway: http://h/db\n")
        let environment = Environment([:]).with(file, bot: file.bots[0], isForRun: false)
        #expect(environment["since"] == nil && environment["summary"] == nil)
        #expect(environment["gateway"] == "http://h/db")
    }

    @Test func processSettingsStayUnchangedOnReload() throws {
        let former = try read("version: 1\nonce: true\nbots: [{name: a}]\n")
        let file = try read("version: 1\nstate: s\nretry_for: 1s\nbots: [{name: a}]\n")
        #expect(file.processKeys(otherThan: former.processSettings) == ["state", "once"])
        let kept = file.with(processSettings: former.processSettings)
        #expect(kept.common.mapValues(\.texts) == ["once": ["true"], "retry_for": ["1s"]])
        #expect(kept.bots[0].settings["state"] == nil)
        #expect(kept.bots[0].settings["once"]?.texts == ["true"])
    }

    /// The keys that the schema has for the whole file, and for one bot.
    @Test func schemaHasTheKeysOfTheReader() throws {
        let data = try Data(contentsOf: URL(fileURLWithPath: Program.root + "/assets/configuration.schema.json"))
        let schema = try JSONText(Array(data)).root
        func names(_ object: JSONValue?) -> Set<String> { Set(object?.members.compactMap(\.name.string) ?? []) }
        let all = Set(SettingKey.all.map(\.name))
        #expect(names(schema["properties"]) == all.union(["$schema", "version", "bots"]))
        let ofBots = Set(SettingKey.all.filter { $0.scope == .bot }.map(\.name))
        #expect(names(schema["definitions"]?["bot"]?["properties"]) == ofBots)
    }

    /// Each key is an option of `run`, or one of the few that can't be.
    @Test(.limitedParallelism) func eachKeyIsAnOption() async throws {
        let help = try await Program.run(["run", "--help"]).output
        let withoutOption = [
            "user", "password-file", "password-credential", "token-file", "token-credential", "engine-user",
            "engine-password-file", "token-url", "client-id", "client-secret-file", "client-secret-credential", "scope",
            "audience",
            "client-auth", "api-key-file", "api-key-credential", "token-command", "token-ca-file",
        ]
        for key in SettingKey.all where !withoutOption.contains(key.option) {
            #expect(help.contains("--\(key.option) ") || help.contains("--\(key.option)\n"), "\(key.option)")
        }
    }
}

/// When watched files count as changed.
@Suite struct WatchedFilesTests {
    @Test func changeCountsOnceItHasSettled() async throws {
        try await Program.withDirectory { folder in
            let paths = [folder + "/a", folder + "/rules"]
            func write(_ name: String, _ text: String) throws {
                try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/" + name))
            }
            try FileManager.default.createDirectory(atPath: folder + "/rules", withIntermediateDirectories: true)
            try write("a", "1")
            var files = WatchedFiles(paths)
            func look() -> Bool { files.hasChanged(FileFingerprint(of: files.paths), of: files.paths) }
            #expect(!look())
            try write("a", "12")
            #expect(!look())
            #expect(look())
            #expect(!look())
            // Another file in a folder.
            try write("rules/r.yaml", "x")
            #expect(!look())
            #expect(look())
            // A file that is added to the list is not a change.
            try write("b", "1")
            files.watch(paths + [folder + "/b"])
            #expect(!look())
            #expect(!look())
            // Earlier changes count, although the list is new.
            try write("a", "123")
            files.watch(paths)
            _ = look()
            #expect(look())
        }
    }
}

@Suite struct CredentialsTests {
    /// A file with these settings, one per line from the second line on, sorted by name.
    private func file(_ settings: [String: String]) throws(CommandError) -> ConfigurationFile {
        let lines = settings.sorted { $0.key < $1.key }.map { "\($0.key): \"\($0.value)\"\n" }
        let path = NSTemporaryDirectory() + "changebot-\(UUID().uuidString).yaml"
        defer { unlink(path) }
        _ = FileManager.default.createFile(
            atPath: path, contents: Data(("version: 1\n" + lines.joined()).utf8))
        return try .read(path)
    }

    private func credentials(
        _ settings: [String: String], _ variables: [String: String] = [:]
    ) throws(CommandError) -> Credentials {
        let file = try file(settings)
        return try Credentials(Environment(variables).with(file, bot: file.bots[0]))
    }

    @Test(
        arguments: [
            (
                ["user": "amy"], [:], 78,
                ":2:7: 'user' is set, but no password is: write 'password_file: PATH' next to it, with the path of a file"
            ),
            (
                ["password_file": "p"], [:], 78,
                ":2:16: 'password_file' is set, but no user is: write 'user: NAME' next to it, or remove it"
            ),
            (
                ["user": "amy", "password_file": "p"], ["CHANGEBOT_PASSWORD": "x"], 64,
                "CHANGEBOT_PASSWORD is set, but no user is: set CHANGEBOT_USER too, or unset CHANGEBOT_PASSWORD; if a "
                    + "variable is set, the credentials in "
            ),
            (
                ["user": "amy", "password_file": "p", "password_credential": "c"], [:], 78,
                "'password_file' and 'password_credential' are both set"
            ),
            (["user": "amy", "token_file": "p"], [:], 78, "'token_file' and 'user' are both set"),
            (
                ["user": "a:b", "password_file": "p"], [:], 78,
                "and the password in the file that 'password_file' names"
            ),
            (
                ["token_url": "https://h", "client_id": "c"], [:], 78,
                "'token_url' is set, but 'client_secret_file' is not"
            ),
            (["scope": "s"], [:], 78, "'scope' is set, but 'token_url' is not: OAuth client credentials need"),
            (["audience": "a"], [:], 78, "'audience' is set, but 'token_url' is not: OAuth client credentials need"),
            (["api_key_file": "k", "scope": "s"], [:], 78, "'api_key_file' and 'scope' are two ways to get a token"),
            (
                ["api_key_file": "k", "token_command": "c"], [:], 78,
                "'token_command' and 'api_key_file' are two ways to get a token: unset one"
            ),
            (["token_command": "c", "token_file": "t"], [:], 78, "'token_file' and 'token_command' are both set"),
            (
                [:], ["CHANGEBOT_CLIENT_SECRET": "x"], 64,
                "CHANGEBOT_CLIENT_SECRET is set, but CHANGEBOT_TOKEN_URL is not"
            ),
            // All variables come before the file.
            (["user": "amy", "password_file": "p"], ["CHANGEBOT_USER": "bob"], 64, "CHANGEBOT_USER is set, but no"),
        ] as [([String: String], [String: String], Int32, String)])
    func contradictionsAreRefused(
        settings: [String: String], variables: [String: String], code: Int32, part: String
    ) throws {
        let failure = try #require(#expect(throws: CommandError.self) { try credentials(settings, variables) })
        #expect(failure.code.rawValue == code)
        #expect(failure.description.contains(part), "\(failure)")
    }

    @Test func systemdCredentialIsAFileInItsFolder() throws {
        let settings = ["user": "amy", "password_credential": "todo"]
        #expect(try credentials(settings, ["CREDENTIALS_DIRECTORY": "/run/c"]).file?.path == "/run/c/todo")
        let failure = #expect(throws: CommandError.self) { _ = try credentials(settings).file }
        #expect(failure?.description.contains("CREDENTIALS_DIRECTORY is not set: add LoadCredential=todo:PATH") == true)
        #expect(throws: CommandError.self) {
            _ = try credentials(
                ["user": "amy", "password_credential": "../x"], ["CREDENTIALS_DIRECTORY": "/run/c"]
            ).file
        }
    }

    @Test func tokenMayComeFromAFile() async throws {
        try await Program.withDirectory { folder in
            let path = folder + "/token"
            try Data("secret\n".utf8).write(to: URL(fileURLWithPath: path))
            let found = try credentials([:], ["CHANGEBOT_TOKEN_FILE": path])
            #expect(try found.read() == .bearer(token: "secret"))
            let source = try found.source()
            #expect(source != nil)
        }
    }

    @Test func renewedTokensAreDescribed() async throws {
        try await Program.withDirectory { folder in
            let path = folder + "/secret"
            try Data("s3cret\n".utf8).write(to: URL(fileURLWithPath: path))
            let client = try credentials(
                [
                    "token_url": "https://id.example/t", "client_id": "bot", "client_secret_file": path, "scope": "a b",
                    "audience": "api",
                ])
            #expect(
                try client.tokenMethod()
                    == .clientCredentials(
                        .init(
                            server: TokenServer(url: "https://id.example/t"), clientID: "bot", secret: .file(path),
                            scope: "a b", audience: "api", form: .basic)))
            #expect(try client.read() == nil && client.file?.path == path)
            let key = try credentials([:], ["CHANGEBOT_API_KEY": "k"])
            #expect(
                try key.tokenMethod()
                    == .apiKey(.init(server: TokenServer(url: TokenMethod.APIKey.usualURL), key: .text("k"))))
            let line = try credentials([:], ["CHANGEBOT_TOKEN_COMMAND": "get token"])
            #expect(try line.tokenMethod() == .command(TokenCommand(shell: "get token")))
            let missing = try credentials(
                ["token_url": "https://h", "client_id": "c", "client_secret_file": "/no/such/secret"])
            let failure = #expect(throws: CommandError.self) { try missing.tokenMethod() }
            #expect(failure?.description.contains("can't read the client secret file /no/such/secret") == true)
            let wrong = try credentials(
                ["token_url": "ftp://h", "client_id": "c", "client_secret_file": path, "client_auth": "header"])
            let refusal = #expect(throws: CommandError.self) { try wrong.tokenMethod() }
            #expect(refusal?.description.contains("'client_auth' is not valid: 'header'; write basic or body") == true)
        }
    }

    @Test func commandIsAListOrALine() throws {
        let path = NSTemporaryDirectory() + "changebot-\(UUID().uuidString).yaml"
        defer { unlink(path) }
        try Data("version: 1\ntoken_command: [bin/get, a b, '']\n".utf8).write(to: URL(fileURLWithPath: path))
        let file = try ConfigurationFile.read(path)
        let found = try Credentials(Environment([:]).with(file, bot: file.bots[0])).tokenMethod()
        #expect(found == .command(TokenCommand([NSTemporaryDirectory() + "bin/get", "a b", ""])))
    }

    @Test func worldReadableFileIsExposed() async throws {
        try await Program.withDirectory { folder in
            let path = folder + "/password"
            try Data("x".utf8).write(to: URL(fileURLWithPath: path))
            for (mode, isExposed) in [(0o600, false), (0o640, false), (0o644, true)] {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
                #expect(SecretFile(path: path, what: "password", setting: "x").isExposed == isExposed)
            }
        }
    }
}
