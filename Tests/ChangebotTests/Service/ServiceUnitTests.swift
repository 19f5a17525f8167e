import Foundation
import TestKit
import Testing

@testable import changebot

/// The units that `service print` writes.
@Suite(.limitedParallelism) struct ServiceUnitTests {
    private static let systemd = "/usr/bin/systemd-analyze"

    private func print(_ arguments: String...) async throws -> Program.Result {
        try await Program.run(["service", "print"] + arguments)
    }

    /// Calls `body` with the paths of all units.
    private func withUnits(_ more: [String] = [], _ body: (_ folder: String, _ paths: [String]) async throws -> Void)
        async throws
    {
        try await Program.withDirectory { folder in
            let result = try await Program.run(["service", "print", "--directory", folder] + more)
            #expect(result.code == 0 && result.output.isEmpty, "\(result.errors)")
            let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
            #expect(
                names == [
                    "changebot-backup@.service", "changebot-backup@.timer", "changebot-fix@.service",
                    "changebot-fix@.timer", "changebot@.service",
                ])
            try await body(folder, names.map { "\(folder)/\($0)" })
        }
    }

    private func analyze(_ arguments: [String], folder: String) async throws -> (code: Int32, text: String) {
        let errors = folder + "/errors"
        let process = try ChildProcess(
            [Self.systemd] + arguments, environment: ["XDG_RUNTIME_DIR": folder, "PAGER": "cat"], errors: errors)
        let output = await process.readToEnd()
        let code = await process.wait()
        return (code, String(decoding: output, as: UTF8.self) + (try String(contentsOfFile: errors, encoding: .utf8)))
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: systemd)), arguments: [false, true])
    func systemdAcceptsTheUnits(isForUser: Bool) async throws {
        try await withUnits(isForUser ? ["--user"] : []) { folder, paths in
            let (code, text) = try await analyze([isForUser ? "--user" : "--system", "verify"] + paths, folder: folder)
            #expect(code == 0 && text.isEmpty, "\(text)")
        }
    }

    /// Regression: the unit hid files that the service must read.
    @Test func foldersInHomesStayVisible() async throws {
        try await Program.withDirectory { folder in
            let config = folder + "/todo.yaml"
            try """
            version: 1
            bots:
              - name: todo
                gateway: http://127.0.0.1:4984/todo
                rules: \(folder)/rules.yaml
                ca_file: /root/certificates/ca.pem
                password_file: /etc/changebot/todo.password
                summary: /srv/todo/summary.json
            """.write(toFile: config, atomically: true, encoding: .utf8)
            try """
            version: 1
            rules:
              - name: r
                when: {}
                then:
                  - webhook: { url: "http://127.0.0.1:9/", secret_files: [/home/amy/secrets/a.secret] }
                  - emit: { file: /home/amy/lines/lines.ndjson }
            """.write(toFile: folder + "/rules.yaml", atomically: true, encoding: .utf8)
            let unit = try await print("run", "--binary", "/home/amy/bin/changebot", "--config", config)
            #expect(unit.code == 0, "\(unit.errors)")
            let lines = unit.output.split(separator: "\n").map(String.init)
            #expect(lines.contains("ProtectHome=tmpfs") && !lines.contains("ProtectHome=yes"))
            #expect(
                lines.filter { $0.hasPrefix("BindReadOnlyPaths=") } == [
                    "BindReadOnlyPaths=/home/amy/bin", "BindReadOnlyPaths=/home/amy/secrets",
                    "BindReadOnlyPaths=/root/certificates",
                ])
            #expect(lines.filter { $0.hasPrefix("BindPaths=") } == ["BindPaths=/home/amy/lines"])
            #expect(lines.filter { $0.hasPrefix("ReadWritePaths=") } == ["ReadWritePaths=-/srv/todo"])
        }
    }

    @Test func homesAreHiddenIfNothingIsThere() async throws {
        let unit = try await print("run", "--binary", "/usr/bin/changebot")
        #expect(unit.output.contains("\nProtectHome=yes\n") && !unit.output.contains("BindReadOnlyPaths="))
        let inHome = try await print("run", "--binary", "/usr/bin/changebot", "--config", "/home/amy/bots/%i.yaml")
        #expect(inHome.output.contains("\nProtectHome=tmpfs\nBindReadOnlyPaths=/home/amy/bots\n"))
    }

    /// The exit code of `verify` does not reflect every warning, so the test above compares the output.
    @Test(.enabled(if: FileManager.default.fileExists(atPath: systemd))) func systemdRejectsWrongUnits()
        async throws
    {
        try await withUnits { folder, _ in
            let path = folder + "/changebot@.service"
            let text = try String(contentsOfFile: path, encoding: .utf8).replacing(
                "KillMode=mixed", with: "KillMode=mild")
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            let result = try await analyze(["--system", "verify", path], folder: folder)
            #expect(result.text.contains("kill mode"), "\(result)")
        }
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: systemd))) func servicesAreConfined() async throws {
        try await withUnits { folder, paths in
            for path in paths where path.hasSuffix(".service") {
                let result = try await analyze(
                    ["security", "--offline=true", "--no-pager", "--threshold=15", path], folder: folder)
                #expect(result.code == 0, "\(result.text.suffix(200))")
            }
        }
    }

    @Test func oneKindIsOneUnit() async throws {
        let run = try await print("run", "--binary", "/usr/bin/changebot")
        #expect(run.code == 0 && run.errors.isEmpty)
        #expect(run.output == ServiceUnit.all(.run, .init(binary: "/usr/bin/changebot", isForUser: false))[0].text)
        #expect(run.output.contains("\nExecStart=/usr/bin/changebot run --config /etc/changebot/%i.yaml\n"))
        #expect(run.output.contains("\nRestartPreventExitStatus=64 65 73 77 78\n"))
        let all = try await print()
        #expect(
            all.output.split(separator: "\n").filter { $0.wholeMatch(of: /# changebot.*@\.(service|timer): .*/) != nil }
                .count == 5)
        #expect(all.output.contains("\nExecStart=\(Program.path) run"))
    }

    @Test func unitsNameTheLinkThatWasCalled() async throws {
        try await Program.withDirectory { folder in
            let link = folder + "/changebot"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: Program.path)
            for (launcher, name) in [
                ("exec \(link) \"$@\"", "sh"), ("PATH=\(folder):$PATH exec changebot \"$@\"", "sh"),
            ] {
                let process = try ChildProcess(["/bin/sh", "-c", launcher, name, "service", "print", "run"])
                let output = String(decoding: await process.readToEnd(), as: UTF8.self)
                #expect(await process.wait() == 0)
                #expect(output.contains("\nExecStart=\(link) run"), "\(launcher): \(output)")
            }
        }
    }

    @Test func differentFilesAreKeptUnlessForced() async throws {
        try await withUnits { folder, _ in
            let again = try await print("--directory", folder)
            #expect(again.code == 0)
            let path = folder + "/changebot@.service"
            try "# mine\n".write(toFile: path, atomically: true, encoding: .utf8)
            let refused = try await print("--directory", folder, "--binary", "/usr/bin/changebot")
            #expect(refused.code == 73)
            #expect(refused.errors.contains("replace it with --force"), "\(refused.errors)")
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "# mine\n")
            let forced = try await print("--directory", folder, "--force")
            #expect(forced.code == 0, "\(forced.errors)")
            #expect(try String(contentsOfFile: path, encoding: .utf8).contains("ExecStart="))
        }
        #expect(try await print("--force").code == 64)
        #expect(try await print("--directory", "/dev/null/units").code == 73)
        #expect(try await print("daemon").code == 64)
    }

    @Test func userUnitNeedsNoPrivileges() throws {
        for unit in ServiceUnit.Kind.allCases.flatMap({ ServiceUnit.all($0, .init(binary: "/x", isForUser: true)) }) {
            for option in [
                "User=", "Capability", "Protect", "Private", "StateDirectory=", "LoadCredential", "network-online",
            ] {
                let lines = unit.text.split(separator: "\n").filter {
                    $0.hasPrefix(option) || $0.contains(option + ".")
                }
                #expect(lines.isEmpty, "\(unit.name): \(lines)")
            }
        }
    }

    @Test(arguments: [
        ("/usr/bin/changebot", "/usr/bin/changebot"), ("/opt/my bots/changebot", "\"/opt/my bots/changebot\""),
        ("/opt/50%/changebot", "/opt/50%%/changebot"), ("/opt/a$b", "/opt/a$$b"),
        ("/opt/a\"b\\c", "\"/opt/a\\\"b\\\\c\""),
    ]) func pathIsOneWord(_ path: String, _ word: String) {
        #expect(ServiceUnit.Settings(binary: path, isForUser: false).program == word)
    }

    @Test func otherFilesAreNextToTheConfiguration() throws {
        let unit = ServiceUnit.all(.run, .init(binary: "/x", isForUser: false, config: "/srv/bots/%i.yaml"))[0].text
        #expect(unit.contains("EnvironmentFile=-/srv/bots/%i.env\n"))
        #expect(unit.contains("LoadCredential=password:/srv/bots/%i.password\n"))
        #expect(unit.contains("# Install it as root, for the configuration file /srv/bots/todo.yaml:\n"))
    }

    /// `.package/make-files` looks for the lines that install.
    @Test func headerExplainsHowToInstallAndChange() {
        for unit in ServiceUnit.Kind.allCases.flatMap({ ServiceUnit.all($0, .init(binary: "/x", isForUser: false)) }) {
            for line in [
                "# Install it as root, for ", "#   useradd ", "#   changebot service print ",
                "#   systemctl daemon-reload\n",
            ] {
                #expect(unit.text.contains("\n" + line), "\(unit.name): \(line)")
            }
        }
        let backup = ServiceUnit.all(.backup, .init(binary: "/x", isForUser: false))[0].text
        #expect(backup.contains("\n# To change the time: systemctl edit changebot-backup@todo.timer\n"))
        #expect(backup.contains("\n# To change another setting: systemctl edit changebot-backup@todo.service\n"))
    }

    /// The printed command installed units for another file.
    @Test func headerInstallsTheUnitsThatItIsIn() throws {
        let other = ServiceUnit.all(.run, .init(binary: "/x", isForUser: false, config: "/srv/a b.yaml"))[0].text
        let command = "#   changebot service print --config '/srv/a b.yaml' --directory /etc/systemd/system"
        #expect(other.contains(command + "\n"))
        let own = ServiceUnit.all(.run, .init(binary: "/x", isForUser: true, config: "/srv/%i.yaml"))[0].text
        #expect(own.contains("# Install it, for the configuration file /srv/todo.yaml:\n"))
        #expect(own.contains("changebot service print --user --config '/srv/%i.yaml' --directory "))
        let usual = ServiceUnit.all(.run, .init(binary: "/x", isForUser: true))[0].text
        #expect(usual.contains("changebot service print --user --directory "))
    }

    /// Runs the backup script as systemd does.
    @Test func backupIsWrittenVerifiedAndRotated() async throws {
        try await CommandTestBed.with([#"{"_id":"t","type":"task"}"#], rules: "- {name: a, when: {}, then: []}\n") {
            bed in
            let config = bed.folder + "/todo.yaml"
            try "version: 1\ngateway: \(bed.url)\nrules: r.yaml\n".write(
                toFile: config, atomically: true, encoding: .utf8)
            let unit = ServiceUnit.all(.backup, .init(binary: Program.path, isForUser: false, config: config))[0].text
            let line = try #require(unit.split(separator: "\n").first { $0.hasPrefix("ExecStart=/bin/sh -euc '") })
            let script = line.dropFirst("ExecStart=/bin/sh -euc '".count).prefix { $0 != "'" }
                .replacing("$$", with: "$").replacing("%%", with: "%")
            let folder = bed.folder + "/backups"
            func backUp() async throws -> Int32 {
                try await ChildProcess(
                    ["/bin/sh", "-euc", String(script), "backup", "todo", Program.path, config],
                    environment: ["BACKUP_FOLDER": folder, "BACKUP_DAYS": "30"]
                ).wait()
            }
            #expect(try await backUp() == 0)
            let old = ["todo-2020-01-01.ndjson.gz", "todo-2020-01-01.ndjson.gz.manifest.json"]
            let others = ["other-2020-01-01.ndjson.gz", "todo-notes.txt"]
            for name in old + others {
                try "x".write(toFile: folder + "/" + name, atomically: true, encoding: .utf8)
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSinceNow: -32 * 86400)], ofItemAtPath: folder + "/" + name)
            }
            // A second backup on the same day replaces the first.
            #expect(try await backUp() == 0)
            let names = Set(try FileManager.default.contentsOfDirectory(atPath: folder))
            #expect(names.isDisjoint(with: old) && names.isSuperset(of: others), "\(names)")
            #expect(names.count == 4, "\(names)")
        }
    }
}
