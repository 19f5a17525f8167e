import Foundation
import GatewayClient
import TestKit
import Testing

/// Nothing that the program writes or shows while it runs contains the password.
@Suite(.limitedParallelism) struct SecrecyTests {
    private static let documents = [
        #"{"_id":"t1","type":"task"}"#, #"{"_id":"t2","type":"task"}"#, #"{"_id":"b","type":"broken"}"#,
    ]

    private func load(_ phone: Gateway) async throws {
        let documents = Self.documents.map {
            BulkDocument(id: DocumentID(String($0.dropFirst(8).prefix { $0 != "\"" })), segments: [Array($0.utf8)])
        }
        for outcome in try await phone.bulkDocs(documents) {
            guard case .written = outcome else {
                Issue.record("not loaded: \(outcome)")
                return
            }
        }
    }

    /// The search detects what it looks for.
    @Test func searchKnowsAllFormsOfThePassword() throws {
        let basic = Data("\(SecretTestBed.user):\(SecretTestBed.password)".utf8).base64EncodedString()
        let forms = SecretTestBed.forms
        #expect(forms.contains { basic.contains($0) })
        #expect(forms.contains { Data(SecretTestBed.password.utf8).base64EncodedString().contains($0) })
        #expect(forms.allSatisfy { $0.utf8.count >= 19 })
    }

    @Test(arguments: SecretTestBed.Source.allCases)
    func successfulRunLeaksNoSecret(source: SecretTestBed.Source) async throws {
        try await SecretTestBed.with { bed in
            let faults =
                #"{"on":"_bulk_docs","status":503,"after":1,"times":1},{"on":"_changes","session_expired":true,"times":1}"#
            try await bed.withGateway(faults: faults) { url, phone in
                try await load(phone)
                // The error on `_changes` ends a run without retries; the second run succeeds.
                var codes = [try await bed.runOnce(url, from: source).code]
                codes.append(try await bed.runOnce(url, from: source).code)
                #expect(codes.contains(1), "\(codes)")
            }
            let deadLetters = try await Program.run(["dead-letters", "export", "--state", bed.state])
            #expect(deadLetters.output.contains("\"b\""))
            bed.expectNoSecret(in: Data(deadLetters.output.utf8), "dead letters")
        }
    }

    /// While a process runs, every user can see its command line, and its state is in SQLite's open files.
    @Test(arguments: SecretTestBed.Source.allCases)
    func daemonLeaksNoSecret(source: SecretTestBed.Source) async throws {
        try await SecretTestBed.with { bed in
            try await bed.withGateway { url, phone in
                let (arguments, environment) = bed.run(url, from: source)
                let bot = try ChildProcess(
                    [Program.path] + arguments, environment: environment, errors: bed.folder + "/stderr")
                try await load(phone)
                var since = SequenceID.start
                var isDone = false
                while !isDone {
                    var answer = try await phone.changes(
                        ChangesRequest(since: since, feed: .longpoll(timeout: .seconds(50))))
                    while let batch = try await answer.next() {
                        isDone = isDone || batch.contains { $0.revision?.generation == 2 }
                    }
                    since = answer.lastSequence ?? since
                }
                for file in ["cmdline", "comm", "status"] {
                    let shown = try Data(contentsOf: URL(fileURLWithPath: "/proc/\(bot.id)/\(file)"))
                    #expect(!shown.isEmpty)
                    bed.expectNoSecret(in: shown, Comment(rawValue: file))
                }
                #expect(
                    try FileManager.default.contentsOfDirectory(atPath: bed.state).contains { $0.hasSuffix("-wal") })
                try Data().write(to: URL(fileURLWithPath: bed.folder + "/summary.json"))
                try bed.expectNoSecretInFiles()
                bot.signal(SIGTERM)
                #expect(await bot.wait() == 0)
                try bed.expectNoSecretInFiles()
            }
        }
    }

    /// A server that repeats the request, or redirects it, must not make the bot reveal the password.
    @Test(
        arguments: [
            (401, [], #"{"error":"Unauthorized","reason":"no: "#, 77),
            (403, [], #"{"error":"forbidden","reason":""#, 77),
            (404, [], #"{"error":"not_found","reason":""#, 66), (200, ["Content-Type: text/html"], "<html>", 76),
            (301, ["Location: http://amy:other@127.0.0.1:1/todo/"], "", 76), (400, [], #"{"error":"x","reason":""#, 78),
        ] as [(Int, [String], String, Int32)], [SecretTestBed.Source.environment, .session])
    func refusedRunLeaksNoSecret(
        answer: (status: Int, headers: [String], body: String, code: Int32), source: SecretTestBed.Source
    ) async throws {
        let server = try TestServer { connection in
            try connection.serve { request in
                let sent = request.values(of: "authorization").joined() + request.text.filter { $0 != "\"" }
                try connection.answer(answer.status, headers: answer.headers, body: answer.body + sent + "\"}")
            }
        }
        try await SecretTestBed.with { bed in
            let result = try await bed.runOnce(server.url("/todo"), from: source)
            #expect(result.code == answer.code || source == .session, "\(result.errors)")
            #expect(result.code >= 64 && !result.errors.isEmpty)
        }
    }

    @Test(arguments: SecretTestBed.Source.allCases)
    func runWithoutAGatewayLeaksNoSecret(source: SecretTestBed.Source) async throws {
        let plain = try TestServer { connection in _ = try connection.readRequest() }
        let noTLS = plain.url("/todo").replacingOccurrences(of: "http:", with: "https:")
        try await SecretTestBed.with { bed in
            // Later on, a password from a file and an address from the environment are treated like the others.
            let isOther = source == .file || source == .addressInEnvironment
            for url in isOther ? [noTLS] : ["http://127.0.0.1:1/todo", "http://nonexistent.invalid/todo", noTLS] {
                let result = try await bed.runOnce(url, from: source, ["--name", "a\(url.utf8.count)"])
                #expect(result.code == 69, "\(result.errors)")
            }
            // Closes the connection each time: a temporary fault.
            let last = try await bed.runOnce(
                plain.url("/todo"), from: source, ["--retry-for", "1s", "--name", "last"])
            #expect(last.code == 75, "\(last.errors)")
        }
    }

    /// A wrong password is also secret: it may be that of another gateway.
    @Test(arguments: SecretTestBed.Source.allCases)
    func wrongPasswordIsNotShown(source: SecretTestBed.Source) async throws {
        try await Program.withGateway(users: SecretTestBed.users(password: "another")) { url in
            try await SecretTestBed.with { bed in
                let result = try await bed.runOnce(url, from: source)
                #expect(result.code == 77, "\(result.errors)")
            }
        }
    }

    @Test(arguments: SecretTestBed.Source.allCases)
    func wrongArgumentsLeakNoSecret(source: SecretTestBed.Source) async throws {
        try await SecretTestBed.with { bed in
            let (arguments, environment) = bed.run("http://127.0.0.1:1/todo", from: source, ["--once"])
            let wrong = ["--nonsense", "http://amy:\(SecretTestBed.password)@h/"]
            let result = try await Program.run(arguments + wrong, environment: environment)
            #expect(result.code == 64)
            bed.expectNoSecret(in: Data((result.output + result.errors).utf8), "\(source)")
        }
    }

    @Test(arguments: [
        ("CHANGEBOT_USER", "", "CHANGEBOT_USER"), ("CHANGEBOT_TOKEN", "x", "CHANGEBOT_TOKEN"),
        ("CHANGEBOT_GATEWAY", "wss://h/db", "write https://"),
    ])
    func wrongEnvironmentLeaksNoSecret(name: String, value: String, part: String) async throws {
        try await SecretTestBed.with { bed in
            var (arguments, environment) = bed.run("http://127.0.0.1:1/todo", from: .environment, ["--once"])
            environment[name] = value
            let result = try await Program.run(arguments, environment: environment)
            #expect(result.code == 64 && result.errors.contains(part), "\(result.errors)")
            bed.expectNoSecret(in: Data((result.output + result.errors).utf8), "\(name)")
        }
    }
}
