import Foundation
import TestKit
import Testing

@testable import changebot

@Suite(.limitedParallelism) struct OutputFileTests {
    private let long = Array(String(repeating: "x", count: 5_000).utf8)
    private let short = Array("{}\n".utf8)

    private func failure(_ body: () throws(CommandError) -> Void) -> CommandError? {
        do throws(CommandError) { try body() } catch { return error }
        return nil
    }

    private func bytes(_ path: String) -> [UInt8]? { FileManager.default.contents(atPath: path).map { Array($0) } }

    /// Regression: it was written over the beginning of the existing content.
    @Test(arguments: ["target", "d/target"]) func linkedFileIsReplacedAtOnce(target: String) async throws {
        try await Program.withDirectory { directory in
            try FileManager.default.createDirectory(atPath: directory + "/d", withIntermediateDirectories: false)
            let (link, file) = (directory + "/link", directory + "/" + target)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
            try Data(long).write(to: URL(fileURLWithPath: file))
            try OutputFile.check(link)
            try OutputFile.write(short, to: link)
            #expect(bytes(file) == short)
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == target)
        }
    }

    @Test func danglingLinkCreatesItsFile() async throws {
        try await Program.withDirectory { directory in
            for (name, target) in [("link", "file"), ("second", "link2"), ("link2", "file2")] {
                try FileManager.default.createSymbolicLink(atPath: directory + "/" + name, withDestinationPath: target)
            }
            for (link, file) in [("link", "file"), ("second", "file2")] {
                try OutputFile.check(directory + "/" + link)
                #expect(bytes(directory + "/" + file) == nil)
                try OutputFile.write(short, to: directory + "/" + link)
                #expect(bytes(directory + "/" + file) == short)
            }
        }
    }

    /// Regression: it passed the check, and failed at the end of the run.
    @Test func unwritableOutputFailsTheCheck() async throws {
        try await Program.withDirectory { directory in
            for (name, target) in [("dangling", "none/file"), ("loop", "loop"), ("folder", directory)] {
                try FileManager.default.createSymbolicLink(atPath: directory + "/" + name, withDestinationPath: target)
                #expect(
                    failure { () throws(CommandError) in try OutputFile.check(directory + "/" + name) }?.code
                        == .cannotCreate, "\(name)")
            }
            for path in [directory, directory + "/none/f"] {
                #expect(failure { () throws(CommandError) in try OutputFile.check(path) }?.code == .cannotCreate)
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory).count == 3)
        }
    }

    /// Regression: all used one temporary file, which got parts of several contents.
    @Test func fileIsOneOfThoseThatAreWrittenAtOnce() async throws {
        try await Program.withDirectory { directory in
            let contents = (0..<8).map { [UInt8](repeating: UInt8($0), count: 1 << 20) }
            for _ in 0..<5 {
                let errors = await withTaskGroup(of: CommandError?.self) { group in
                    for content in contents {
                        group.addTask {
                            do throws(CommandError) { try OutputFile.write(content, to: directory + "/f") } catch {
                                return error
                            }
                            return nil
                        }
                    }
                    return await group.reduce(into: [String]()) { if let error = $1 { $0.append("\(error)") } }
                }
                #expect(errors == [])
                #expect(contents.contains(bytes(directory + "/f") ?? []))
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: directory)
            #expect(names == ["f"])
        }
    }

    @Test func devicesAndPipesAreWrittenDirectly() async throws {
        try await Program.withDirectory { directory in
            let pipe = directory + "/pipe"
            #expect(mkfifo(pipe, 0o600) == 0)
            try OutputFile.check("/dev/null")
            try OutputFile.check(pipe)
            try OutputFile.write(short, to: "/dev/null")
            let reader = open(pipe, O_RDONLY | O_NONBLOCK)
            defer { close(reader) }
            try OutputFile.write(short, to: pipe)
            var buffer = [UInt8](repeating: 0, count: 16)
            #expect(read(reader, &buffer, 16) == short.count)
            for path in ["/dev/null", pipe] {
                let failure = failure { () throws(CommandError) in
                    _ = try OutputFile.checkRegular(path, "--reject")
                }
                #expect(failure?.code == .cannotCreate)
            }
        }
    }

    @Test(arguments: ["pictures/apple.png", "pictures/new.json", "logo.png"])
    func summaryNeverReplacesAnAttachedFile(name: String) async throws {
        try await Program.withDirectory { directory in
            try FileManager.default.createDirectory(
                atPath: directory + "/pictures", withIntermediateDirectories: false)
            for file in ["pictures/apple.png", "logo.png"] {
                try Data("mine".utf8).write(to: URL(fileURLWithPath: directory + "/" + file))
            }
            let rules = """
                version: 1
                rules:
                  - name: a
                    when: { type: task }
                    then:
                      - { attach: { name: logo, file: logo.png, content_type: image/png } }
                      - { attach: { name: image, file: { jq: .task }, folder: pictures, content_type: image/png } }

                """
            try Data(rules.utf8).write(to: URL(fileURLWithPath: directory + "/r.yaml"))
            let result = try await Program.run([
                "run", "--once", "--gateway", "embedded:", "--rules", directory + "/r.yaml", "--summary",
                directory + "/" + name,
            ])
            #expect(result.code == 64 && result.errors.contains("--summary"), "\(result.errors)")
            #expect(bytes(directory + "/logo.png") == Array("mine".utf8))
        }
    }

    /// Each would be overwritten at the end of the run.
    @Test(arguments: [
        "r/rules.yaml", "r/new.yaml", "link", "hard", "g.sqlite", "ca.pem", "password", "state/changebot.sqlite",
    ])
    func summaryNeverReplacesAnInput(name: String) async throws {
        try await Program.withDirectory { directory in
            try FileManager.default.createDirectory(atPath: directory + "/r", withIntermediateDirectories: false)
            try FileManager.default.createDirectory(atPath: directory + "/state", withIntermediateDirectories: false)
            let rules = directory + "/r/rules.yaml"
            for file in [rules, directory + "/g.sqlite", directory + "/ca.pem", directory + "/password"] {
                try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
            }
            try FileManager.default.createSymbolicLink(atPath: directory + "/link", withDestinationPath: rules)
            try FileManager.default.linkItem(atPath: rules, toPath: directory + "/hard")
            for command in [["run", "--once"], ["fix"]] {
                let result = try await Program.run(
                    command + [
                        "--gateway", "embedded:\(directory)/g.sqlite", "--rules", directory + "/r", "--ca-file",
                        directory + "/ca.pem", "--state", directory + "/state", "--summary", directory + "/" + name,
                    ], environment: ["CHANGEBOT_USER": "u", "CHANGEBOT_PASSWORD_FILE": directory + "/password"])
                #expect(result.code == 64, "\(result.errors)")
                #expect(result.errors.contains("--summary"))
            }
            #expect(bytes(rules) == Array("mine".utf8))
        }
    }

    @Test(
        arguments: [
            ["--summary", "in"], ["--reject", "in"], ["--progress-file", "in"], ["--summary", "in.manifest.json"],
            ["--reject", "map.yaml"], ["--summary", "list"], ["--summary", "files/sha256/ab/x"],
            ["--reject", "r", "--summary", "r.reasons"],
        ])
    func importNeverOverwritesItsInput(options: [String]) async throws {
        try await Program.withDirectory { directory in
            try FileManager.default.createDirectory(
                atPath: directory + "/files/sha256/ab", withIntermediateDirectories: true)
            for name in ["in", "in.manifest.json", "map.yaml", "list"] {
                try Data("mine".utf8).write(to: URL(fileURLWithPath: directory + "/" + name))
            }
            let options = options.map { $0.hasPrefix("--") ? $0 : directory + "/" + $0 }
            let result = try await Program.run(
                [
                    "import", directory + "/in", "--gateway", "http://127.0.0.1:1/todo", "--map",
                    directory + "/map.yaml", "--slurp", "l=\(directory)/list", "--attachments", directory + "/files",
                ] + options)
            #expect(result.code == 64, "\(result.errors)")
            for name in ["in", "in.manifest.json", "map.yaml", "list"] {
                #expect(bytes(directory + "/" + name) == Array("mine".utf8))
            }
        }
    }
}
