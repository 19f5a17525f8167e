import Foundation
import GatewayClient
import TestKit
import Testing

@Suite(.limitedParallelism) struct ExportCommandTests {
    /// A gateway that requires a password, with three documents.
    private func withGateway(_ body: (SecretTestBed, String) async throws -> Void) async throws {
        try await SecretTestBed.with { bed in
            try await bed.withGateway { url, phone in
                for number in 1...3 {
                    try await phone.put(DocumentID("d\(number)"), body: Array(#"{"n":\#(number)}"#.utf8))
                }
                try await body(bed, url)
            }
        }
    }

    private let login = ["CHANGEBOT_USER": SecretTestBed.user, "CHANGEBOT_PASSWORD": SecretTestBed.password]

    @Test(arguments: ["basic", "session"]) func exportIsComparedWithItsGateway(auth: String) async throws {
        try await withGateway { bed, url in
            let file = bed.folder + "/o.ndjson"
            let export = ["export", "--gateway", url, "--output", file, "--auth", auth]
            #expect(try await Program.run(export, environment: login).code == 0)
            let verify = ["verify", file, "--against", url, "--auth", auth]
            let same = try await Program.run(verify, environment: login)
            #expect(same.code == 0, "\(same.errors)")
            #expect(same.output.isEmpty)
        }
    }

    @Test func extraDocumentsOfTheGatewayAreFound() async throws {
        try await withGateway { bed, url in
            let file = bed.folder + "/o.ndjson"
            let export = ["export", "--gateway", url, "--output", file, "--selector", #"{"n":{"$lt":3}}"#]
            #expect(try await Program.run(export, environment: login).code == 0)
            var text = try String(contentsOfFile: file + ".manifest.json", encoding: .utf8)
            text = text.replacingOccurrences(of: #""selector":"{\"n\":{\"$lt\":3}}""#, with: #""selector":null"#)
            try Data(text.utf8).write(to: URL(fileURLWithPath: file + ".manifest.json"))
            let found = try await Program.run(["verify", file, "--against", url], environment: login)
            #expect(found.code == 65, "\(found.errors)")
            #expect(found.output.contains(#""finding":"extra","id":"d3""#))
            #expect(try await Program.run(["verify", file, "--against", url]).code == 77)
            let noAddress = try await Program.run(["verify", file, "--against", "http://h"], environment: login)
            #expect(noAddress.code == 64)
            #expect(noAddress.errors.contains("--against"))
        }
    }

    /// The option selects the kind of requests; the manifest records the actual kind of server.
    @Test func exportWithAnotherDialectIsComplete() async throws {
        try await withGateway { bed, url in
            let file = bed.folder + "/o.ndjson"
            let export = ["export", "--gateway", url, "--dialect", "couchdb"]
            let full = try await Program.run(export + ["--output", file], environment: login)
            #expect(full.code == 0, "\(full.errors)")
            #expect(try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").count == 3)
            let manifest = try String(contentsOfFile: file + ".manifest.json", encoding: .utf8)
            #expect(manifest.contains(#""server":{"name":"sync-gateway""#), "\(manifest)")
            let next = try await Program.run(
                export + ["--output", bed.folder + "/p", "--since-manifest", file + ".manifest.json"],
                environment: login)
            #expect(next.code == 0, "\(next.errors)")
        }
    }

    /// Regression: it wrote lines of JSON into a file that looked like a spreadsheet. Now no request is sent.
    @Test(arguments: [
        ("b.xlsx", "b.csv"), ("b.XLS", "b.csv"), ("a.b.parquet", "a.b.csv"), ("b.zip", "b.ndjson.gz"),
        ("b.json.zst", "write b.json.gz"), ("b.tar.gz", "gzip"),
        ("b.sqlite", "changebot replicate URL embedded:b.sqlite"),
        ("b.xml", "b.ndjson, b.json or b.csv"),
    ])
    func nameOfAFormatThatCannotBeWrittenIsRefused(name: String, remedy: String) async throws {
        try await Program.withDirectory { folder in
            let command = ["export", "--gateway", "http://127.0.0.1:1/todo", "--output", folder + "/" + name]
            let refused = try await Program.run(command)
            #expect(refused.code == 64, "\(refused.errors)")
            #expect(refused.errors.contains("export can't write this format"), "\(refused.errors)")
            #expect(refused.errors.replacing(folder + "/", with: "").contains(remedy), "\(refused.errors)")
            // With a format, any name is accepted.
            #expect(try await Program.run(command + ["--format", "ndjson"]).code == 69)
        }
    }

    /// No request is sent: there is no gateway. No file is created or changed.
    @Test(
        arguments: [
            (["--output", "O", "--summary", "O"], "--summary"), (["--output", "O", "--summary", "./O"], "--summary"),
            (["--output", "O", "--summary", "O.manifest.json"], "manifest"),
            (["--output", "O", "--summary", "O.part"], "--summary"),
            (["--output", "O", "--summary", "O.partial"], "--summary"),
            (["--output", "O", "--summary", "m", "--since-manifest", "m"], "--since-manifest"),
            (["--output", "m", "--since-manifest", "m"], "--since-manifest"),
            (["--output", ""], "--output"), (["--output", "O", "--summary", ""], "--summary"),
            (["--output", "O", "--attachments", ""], "--attachments"),
        ])
    func filesThatWouldOverwriteEachOtherAreRefused(options: [String], part: String) async throws {
        try await Program.withDirectory { directory in
            try Data("mine".utf8).write(to: URL(fileURLWithPath: directory + "/m"))
            let options = options.map { $0.isEmpty || $0.hasPrefix("--") ? $0 : directory + "/" + $0 }
            let result = try await Program.run(["export", "--gateway", "http://127.0.0.1:1/todo"] + options)
            #expect(result.code == 64, "\(result.errors)")
            #expect(result.errors.contains(part))
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["m"])
            #expect(FileManager.default.contents(atPath: directory + "/m") == Data("mine".utf8))
        }
    }

    /// The file is as it was exported; the blob was already incomplete on the gateway.
    @Test func verifyNamesAnIncompleteBlob() async throws {
        try await withGateway { bed, url in
            let document = bed.folder + "/d.ndjson"
            let blob = #"{"@type":"blob","digest":"sha1-9XLTlvrpIGYocU+yzgD3LpTyJY8=","length":6}"#
            try Data(#"{"_id":"half","image":\#(blob)}"#.utf8).write(to: URL(fileURLWithPath: document))
            #expect(try await Program.run(["import", document, "--gateway", url], environment: login).code == 0)
            let file = bed.folder + "/o.ndjson"
            let export = ["export", "--gateway", url, "--output", file, "--attachments", bed.folder + "/files"]
            #expect(try await Program.run(export, environment: login).code == 0)
            let result = try await Program.run(["verify", file])
            #expect(result.code == 65)
            #expect(
                result.errors.contains(
                    "o.ndjson has incomplete blobs, as they were at the gateway: document 'half', /image: "
                        + "the blob has no attachment 'blob_/image'"), "\(result.errors)")
            #expect(!result.errors.contains("differs from its manifest"))
        }
    }

    @Test func tableCannotBeComparedWithAGateway() async throws {
        try await withGateway { bed, url in
            let file = bed.folder + "/o.csv"
            let export = ["export", "--gateway", url, "--output", file, "--fields", "_id,n,none", "--delimiter", "tab"]
            #expect(try await Program.run(export, environment: login).code == 0)
            #expect(try String(contentsOfFile: file, encoding: .utf8).hasPrefix("_id\tn:number\tnone\r\nd1\t1\t\r\n"))
            #expect(try await Program.run(["verify", file]).code == 0)
            let result = try await Program.run(["verify", file, "--against", url], environment: login)
            #expect(result.code == 64)
            #expect(result.errors.contains("ndjson"))
        }
    }

    /// The manifest determines the format of a file; its name does not.
    @Test func fileOnlyNamedLikeATableIsComparedWithItsGateway() async throws {
        try await withGateway { bed, url in
            let file = bed.folder + "/o.csv"
            let export = ["export", "--gateway", url, "--output", file, "--format", "ndjson"]
            #expect(try await Program.run(export, environment: login).code == 0)
            let verify = ["verify", file, "--against", url]
            let result = try await Program.run(verify, environment: login)
            #expect(result.code == 0, "\(result.errors)")
            try FileManager.default.removeItem(atPath: file + ".manifest.json")
            #expect(try await Program.run(verify, environment: login).code == 64)
            try FileManager.default.removeItem(atPath: file)
            #expect(try await Program.run(verify, environment: login).code == 66)
        }
    }

    @Test func emptyColumnIsReported() async throws {
        try await withGateway { bed, url in
            let export = ["export", "--gateway", url, "--output", bed.folder + "/o.csv", "--fields"]
            let wrong = try await Program.run(export + ["_id ,N , n,a.b"], environment: login)
            #expect(wrong.code == 0 && wrong.errors.contains("N,a.b"), "\(wrong.errors)")
            let text = try String(contentsOfFile: bed.folder + "/o.csv", encoding: .utf8)
            #expect(text.hasPrefix("_id,N,n:number,a.b\r\nd1,,1,\r\n"), "\(text)")
            let right = try await Program.run(export + ["_id,n", "--overwrite"], environment: login)
            #expect(!right.errors.contains("--fields"), "\(right.errors)")
        }
    }

    @Test(arguments: [
        ["--fields", "a"], ["--delimiter", ";"], ["--format", "csv", "--fields", "a,a"],
        ["--format", "csv", "--delimiter", "ab"],
    ])
    func optionsOfTablesAreChecked(options: [String]) async throws {
        let result = try await Program.run(["export", "--gateway", "http://127.0.0.1:1/todo"] + options)
        #expect(result.code == 64, "\(result.errors)")
    }

    /// The manifest names the folder relative to another directory, and the export itself is in a folder.
    @Test func missingAttachmentsAreReportedWithTheirFolder() async throws {
        try await withGateway { bed, url in
            let folder = bed.folder + "/ex"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let line = #"{"_id":"p","_attachments":{"x":{"data":"aGVsbG8="}}}"# + "\n"
            let input = bed.folder + "/in.ndjson"
            try Data(line.utf8).write(to: URL(fileURLWithPath: input))
            #expect(try await Program.run(["import", input, "--gateway", url], environment: login).code == 0)
            let file = folder + "/o.ndjson"
            let export = ["export", "--gateway", url, "--output", file, "--attachments", folder + "/att"]
            #expect(try await Program.run(export, environment: login).code == 0)
            let manifest = URL(fileURLWithPath: file + ".manifest.json")
            let text = try String(contentsOf: manifest, encoding: .utf8)
            try Data(text.replacingOccurrences(of: folder + "/att", with: "ex/att").utf8).write(to: manifest)
            #expect(try await Program.run(["verify", file]).code == 0)
            try FileManager.default.moveItem(atPath: folder + "/att", toPath: bed.folder + "/moved")
            let lost = try await Program.run(["verify", file])
            #expect(lost.code == 65 && lost.output.contains(#""message":"ex/att/sha256/"#), "\(lost.output)")
            #expect(lost.output.contains("is missing; name the folder with --attachments DIR"))
            #expect(try await Program.run(["verify", file, "--attachments", bed.folder + "/moved"]).code == 0)
            let none = try await Program.run(["verify", file, "--attachments", bed.folder + "/none"])
            #expect(none.code == 66 && none.errors.contains("there is no folder"), "\(none.errors)")
        }
    }

    /// Regression: an export without the bytes of its attachments was reported as `verified`, without a warning.
    @Test func partsMissingInAnExportAreNotVerified() async throws {
        try await withGateway { bed, url in
            let input = bed.folder + "/in.ndjson"
            let line = #"{"_id":"p","_attachments":{"x":{"data":"aGVsbG8="},"y":{"data":"aGVsbG8="}}}"# + "\n"
            try Data(line.utf8).write(to: URL(fileURLWithPath: input))
            #expect(try await Program.run(["import", input, "--gateway", url], environment: login).code == 0)
            let without = "the bytes of these attachments are not in the export and can't be verified attachments=2"
            for (name, more, words) in [
                ("none.ndjson", [], [without, "verified attachments=0 documents=4"]),
                ("inline.ndjson", ["--attachments", "inline"], ["verified attachments=2 documents=4"]),
                ("table.csv", ["--attachments", "inline"], ["the attachments of a table can't be verified"]),
            ] {
                let file = bed.folder + "/" + name
                let export = ["export", "--gateway", url, "--output", file] + more
                #expect(try await Program.run(export, environment: login).code == 0)
                let result = try await Program.run(["verify", file])
                #expect(result.code == 0 && result.output.isEmpty, "\(result.errors)")
                for word in words { #expect(result.errors.contains(word), "\(result.errors)") }
                #expect(result.errors.contains("can't be verified") == (name != "inline.ndjson"), "\(result.errors)")
                // The parts that the gateway did not send during the export.
                let manifest = URL(fileURLWithPath: file + ".manifest.json")
                let text = try String(contentsOf: manifest, encoding: .utf8)
                try Data(text.replacingOccurrences(of: #""unreadable":0"#, with: #""unreadable":3"#).utf8)
                    .write(to: manifest)
                let incomplete = try await Program.run(["verify", file]).errors
                #expect(incomplete.contains("warning the export lacks documents"), "\(incomplete)")
            }
        }
    }

    /// Regression: the signal ended it without a message.
    @Test(arguments: [SIGTERM, SIGINT]) func stoppedVerificationEndsCleanly(signal: Int32) async throws {
        try await withGateway { bed, url in
            let file = bed.folder + "/o.csv"
            let export = ["export", "--gateway", url, "--output", file]
            #expect(try await Program.run(export, environment: login).code == 0)
            // A sparse file, which needs no space on disk.
            #expect(truncate(file, 1 << 36) == 0)
            let errors = bed.folder + "/errors"
            let process = try ChildProcess([Program.path, "verify", file], errors: errors)
            // Starting and the manifest take less than half a MiB. After 4 MiB, it is reading the table, which would
            // take an hour.
            try await process.waitUntil { process.bytesRead >= 4 << 20 }
            process.signal(signal)
            #expect(await process.wait() == 75)
            let log = try String(contentsOfFile: errors, encoding: .utf8)
            #expect(log.contains("stopped before the end: not everything was verified"), "\(log)")
            #expect(!log.contains(" verified "), "\(log)")
        }
    }

    @Test func intendedFileIsSuggested() async throws {
        try await withGateway { bed, url in
            let file = bed.folder + "/o.ndjson"
            let export = ["export", "--gateway", url, "--output"]
            #expect(try await Program.run(export + [file], environment: login).code == 0)
            for (command, code, words) in [
                (export + [file + "2", "--since-manifest", file], 65, "name its manifest: \(file).manifest.json"),
                (["verify", file + ".manifest.json"], 66, "is a manifest; name its export"),
                (export + [bed.folder + "/none/x.ndjson"], 73, "there is no folder \(bed.folder)/none"),
                (export + [file + "2", "--summary", bed.folder + "/none/s"], 73, "there is no folder"),
                (["export", "--gateway", "/todo"], 64, "write http://HOST:PORT/DATABASE"),
                (["export", "--gateway", url + "/x"], 66, "the last part of the path names the database, here 'x'"),
            ] as [([String], Int32, String)] {
                let result = try await Program.run(command, environment: login)
                #expect(result.code == code && result.errors.contains(words), "\(result.code) \(result.errors)")
            }
        }
    }

    @Test func foreignFileIsLeftAlone() async throws {
        try await withGateway { bed, url in
            let file = bed.folder + "/notes.ndjson"
            try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
            let export = ["export", "--gateway", url, "--output", file]
            let result = try await Program.run(export, environment: login)
            #expect(result.code == 73)
            #expect(result.errors.contains("--overwrite"))
            #expect(FileManager.default.contents(atPath: file) == Data("mine".utf8))
            #expect(try await Program.run(export + ["--overwrite"], environment: login).code == 0)
            #expect(try await Program.run(export, environment: login).code == 0)
        }
    }
}
