import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// `export --encrypt-to`, with the programs that it needs.
@Suite(.limitedParallelism) struct ExportEncryptionTests {
    /// A program and the key of a recipient.
    struct Key: Sendable {
        let recipient: String
        let decrypt: [String]
        let environment: [String: String]
    }

    private static func key(of program: String, in folder: String) async throws -> Key {
        if program == "age" {
            let made = try await tool("age-keygen", ["-o", folder + "/key.txt"])
            #expect(made.code == 0)
            let lines = try String(contentsOfFile: folder + "/key.txt", encoding: .utf8).split(separator: "\n")
            let line = try #require(lines.first { $0.hasPrefix("# public key: ") })
            return Key(
                recipient: String(line.dropFirst("# public key: ".count)),
                decrypt: ["age", "--decrypt", "--identity", folder + "/key.txt"], environment: [:])
        }
        let home = folder + "/gpg"
        try FileManager.default.createDirectory(
            atPath: home, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let made = try await tool(
            "gpg",
            [
                "--homedir", home, "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "",
                "--quick-generate-key", "backup@example.org", "default", "default", "never",
            ])
        #expect(made.code == 0, "\(made.errors)")
        return Key(
            recipient: "backup@example.org", decrypt: ["gpg", "--homedir", home, "--batch", "--quiet", "--decrypt"],
            environment: ["GNUPGHOME": home])
    }

    private static func tool(_ name: String, _ arguments: [String]) async throws -> (code: Int32, errors: String) {
        let errors = NSTemporaryDirectory() + "changebot-errors-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: errors) }
        let process = try ChildProcess(["/usr/bin/" + name] + arguments, errors: errors)
        _ = await process.readToEnd()
        return (await process.wait(), try String(contentsOfFile: errors, encoding: .utf8))
    }

    private static let isInstalled = ["age", "age-keygen", "gpg"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: "/usr/bin/" + $0)
    }

    private static let documents = [#"{"_id":"a","n":1,"secret":"plainly visible"}"#, #"{"_id":"b","n":2}"#]
    private static let rules = "  - { name: none, when: { type: none }, then: [delete: {}] }\n"

    private func export(_ bed: CommandTestBed, _ file: String, _ key: Key, _ more: [String] = []) async throws
        -> Program.Result
    {
        try await Program.run(
            ["export", "--gateway", bed.url, "--output", bed.folder + "/" + file, "--encrypt-to", key.recipient] + more,
            environment: key.environment)
    }

    /// The decrypted file belongs to the same manifest.
    @Test(.enabled(if: isInstalled), arguments: ["age", "gpg"])
    func encryptedExportsAreDecryptedVerifiedAndImported(program: String) async throws {
        try await CommandTestBed.with(Self.documents, rules: Self.rules) { bed in
            let key = try await Self.key(of: program, in: bed.folder)
            var since: [String] = []
            for name in ["full", "next"] {
                let plain = "\(bed.folder)/\(name).ndjson.gz"
                let result = try await export(bed, "\(name).ndjson.gz.\(program)", key, since)
                #expect(result.code == 0, "\(result.errors)")
                let check = try await Program.run(["verify", "\(plain).\(program)"])
                #expect(check.code == 0 && check.errors.contains("is encrypted"), "\(check.output) \(check.errors)")
                let opened = try await Self.tool(
                    key.decrypt[0], key.decrypt.dropFirst() + ["--output", plain, "\(plain).\(program)"])
                #expect(opened.code == 0, "\(opened.errors)")
                #expect(try await Program.run(["verify", plain]).code == 0)
                since = ["--since-manifest", plain + ".manifest.json"]
                try await bed.put([#"{"_id":"c","n":3}"#, #"{"_id":"a","n":4}"#])
            }
            let files = try FileManager.default.contentsOfDirectory(atPath: bed.folder)
            #expect(!files.contains { $0.contains(".part") || $0.contains(".spool") }, "\(files)")
            let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(bed.folder)/full.ndjson.gz.\(program)"))
            #expect(bytes.range(of: Data("plainly visible".utf8)) == nil)
            try await Program.withGateway { url in
                let result = try await Program.run(
                    ["import", "--gateway", url, "\(bed.folder)/full.ndjson.gz", "\(bed.folder)/next.ndjson.gz"])
                #expect(result.code == 0, "\(result.errors)")
                #expect(try await CommandTestBed(url: url, folder: bed.folder).document("c")?.root["n"]?.integer == 3)
            }
            // An earlier export of the same kind is replaced, another file is not.
            #expect(try await export(bed, "full.ndjson.gz.\(program)", key).code == 0)
            try Data("x".utf8).write(to: URL(fileURLWithPath: "\(bed.folder)/full.ndjson.gz.\(program)"))
            #expect(try await export(bed, "full.ndjson.gz.\(program)", key).code == 73)
        }
    }

    @Test(.enabled(if: isInstalled)) func tablesAndStreamsAreEncrypted() async throws {
        try await CommandTestBed.with(Self.documents, rules: Self.rules) { bed in
            let key = try await Self.key(of: "age", in: bed.folder)
            let table = try await export(bed, "t.csv.age", key)
            #expect(table.code == 0, "\(table.errors)")
            let opened = try await Self.tool(
                "age", key.decrypt.dropFirst() + ["--output", bed.folder + "/t.csv", bed.folder + "/t.csv.age"])
            #expect(opened.code == 0, "\(opened.errors)")
            #expect(try String(contentsOfFile: bed.folder + "/t.csv", encoding: .utf8).contains("plainly visible"))
            let stream = try await Program.run(["export", "--gateway", bed.url, "--encrypt-to", key.recipient])
            #expect(stream.code == 0 && stream.output.hasPrefix("age-encryption.org/v1"), "\(stream.errors)")
        }
    }

    @Test(
        .enabled(if: isInstalled),
        arguments: [
            (["--encrypt-to", "age1nonsense", "-o", "DIR/x.ndjson.age"], 74, "age failed: "),
            (["--encrypt-to", "nobody@example.org", "-o", "DIR/x.ndjson.gpg"], 74, "gpg failed: "),
            (["--encrypt-to", "age1x", "-o", "DIR/x.ndjson"], 64, "end the name with .age"),
            (["--encrypt-to", "age1x", "-o", "DIR/x.ndjson.gpg"], 64, "end the name with .age"),
            (["--encrypt-to", "age1x", "--encrypt-to", "me@example.org", "-o", "DIR/x.age"], 64, "can't be combined"),
            (["--encrypt-to", "AGE-SECRET-KEY-1ABC", "-o", "DIR/x.age"], 64, "is a secret key"),
            (["--encrypt-to", "--recipient", "-o", "DIR/x.age"], 64, "--encrypt-to"),
            (["--encrypt-to", "age1x", "-o", "DIR/x.age", "--resume"], 64, "can't be continued"),
            (["--encrypt-to", "age1x", "-o", "DIR/x.age", "--attachments", "DIR/f"], 64, "--attachments inline"),
            (["-o", "DIR/x.ndjson.age"], 64, "add --encrypt-to"),
        ] as [([String], Int32, String)])
    func badInputIsRefused(arguments: [String], code: Int32, words: String) async throws {
        try await CommandTestBed.with(Self.documents, rules: Self.rules) { bed in
            let before = try FileManager.default.contentsOfDirectory(atPath: bed.folder).sorted()
            let result = try await Program.run(
                ["export", "--gateway", bed.url] + arguments.map { $0.replacing("DIR", with: bed.folder) },
                environment: ["GNUPGHOME": bed.folder + "/none"])
            #expect(result.code == code && result.errors.contains(words), "\(result.code) \(result.errors)")
            #expect(!result.errors.contains("AGE-SECRET-KEY-1ABC"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: bed.folder).sorted() == before)
        }
    }

    @Test func missingProgramIsNamed() async throws {
        try await CommandTestBed.with(Self.documents, rules: Self.rules) { bed in
            let result = try await Program.run(
                ["export", "--gateway", bed.url, "--encrypt-to", "age1x", "-o", bed.folder + "/x.age"],
                environment: ["PATH": bed.folder])
            #expect(result.code == 73, "\(result.errors)")
            #expect(result.errors.contains("can't start age: it is not installed: apt-get install age"))
        }
    }

    @Test(arguments: [["import", "-g", "http://127.0.0.1:9/x"], ["export", "merge", "-o", "DIR/none"]])
    func encryptedInputsHaveARemedy(command: [String]) async throws {
        try await CommandTestBed.with(Self.documents, rules: Self.rules) { bed in
            let file = bed.folder + "/full.ndjson"
            #expect(try await Program.run(["export", "--gateway", bed.url, "-o", file]).code == 0)
            try FileManager.default.moveItem(atPath: file, toPath: file + ".age")
            let result = try await Program.run(
                command.map { $0.replacing("DIR", with: bed.folder) } + [file + ".age"])
            #expect(result.code == 65, "\(result.errors)")
            #expect(
                result.errors.contains("age --decrypt --identity KEYFILE --output \(file) \(file).age"),
                "\(result.errors)")
        }
    }
}
