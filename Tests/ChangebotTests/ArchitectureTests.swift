import Foundation
import Testing

/// The dependencies between targets: each imports only lower layers, and only what the manifest names.
@Suite struct ArchitectureTests {
    /// From the lowest layer to the highest. A target may import those of lower layers only.
    private static let layers = [
        ["Locking", "Compression", "Encodings", "LosslessJSON"],
        ["Fleet", "HelperProcesses", "HTTPServing", "HTTPTransport", "PostgreSQL", "TodoChecks"],
        ["AccessTokens", "FleetEngine", "JQ", "SyncFunctions"],
        ["GatewayClient"],
        ["DocumentFlow", "EmbeddedGateway", "Rules"],
        ["BotState", "Monitoring", "Revisions", "RuleEditing", "TypedDocuments"],
        ["LanguageServer", "Outside", "RulePlay", "TodoData", "Transfer"],
        ["Delivery"],
        ["Bots"],
        ["changebot"],
    ]

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The modules of this project that a target's files import.
    private static func imports(of target: String) throws -> Set<String> {
        let folder = root.appending(path: "Sources/\(target)")
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        var modules: Set<String> = []
        for case let file as URL in files where file.pathExtension == "swift" {
            for bytes in try Data(contentsOf: file).split(separator: UInt8(ascii: "\n")) {
                // Check the first byte first: most lines begin otherwise, and regular expressions are slow in a debug
                // build.
                guard let first = bytes.first, first == UInt8(ascii: "i") || first == UInt8(ascii: "p") else {
                    continue
                }
                let line = String(decoding: bytes, as: UTF8.self)
                guard let match = line.prefixMatch(of: /(?:public |package |internal )?import (\w+)/) else { continue }
                modules.insert(String(match.1))
            }
        }
        return modules.intersection(layers.joined())
    }

    /// The dependencies that the manifest names for a target.
    private static func dependencies(of target: String) throws -> Set<String> {
        let manifest = try text("Package.swift")
        let name = try #require(manifest.firstRange(of: Regex("arget\\(\\s*name: \"\(target)\"")))
        let rest = manifest[name.upperBound...]
        let end = try #require(rest.firstRange(of: "swiftSettings"))
        let names = rest[..<end.lowerBound].matches(of: /"(\w+)"/).map { String($0.1) }
        return Set(names).intersection(layers.joined())
    }

    @Test(arguments: layers.joined().map(\.self)) func targetImportsOnlyLowerLayers(target: String) throws {
        let layer = try #require(Self.layers.firstIndex { $0.contains(target) })
        let below = Set(Self.layers[..<layer].joined())
        let imports = try Self.imports(of: target)
        #expect(imports.isSubset(of: below), "\(imports.subtracting(below).sorted())")
        let dependencies = try Self.dependencies(of: target)
        #expect(imports == dependencies, "imported \(imports.sorted()), named \(dependencies.sorted())")
    }

    @Test func eachTargetHasALayer() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: "Sources").path)
        let targets = folders.filter { !$0.hasPrefix("C") || $0 == "Compression" }
        let tools = ["TestKit", "changebot-bench", "changebot-helper", "changebot-simulate", "changebot-soak"]
        #expect(Set(targets).subtracting(tools) == Set(Self.layers.joined()))
    }

    /// The simulation replaces the clock, the random numbers and the scheduler beneath the program: nothing may bypass
    /// it. The files named here are not used in a simulation.
    @Test func simulatedTargetsUseNoOtherThreadsClocksOrRandomNumbers() throws {
        let simulated = [
            "BotState", "Bots", "Delivery", "DocumentFlow", "Encodings", "Fleet", "GatewayClient", "Locking",
            "LosslessJSON", "Outside", "Revisions", "Rules",
        ]
        let permitted: Set = [
            // Dispatch queues, which the simulation replaces.
            "BlockingExecutor.swift", "Ledger+SeparateThread.swift",
            // Encrypts exports; no run uses it.
            "OutputFilter.swift",
        ]
        let system =
            #"pthread_create|Thread\.|DispatchQueue|posix_spawn|fork\(|socket\(|syscall\(|clock_gettime|CLOCK_\w+|getrandom|/dev/u?random|rdtsc"#
        // One place for the wall clock, and one for random numbers. `ContinuousClock` is the only other clock.
        let times =
            #"Date\(\)|Date\.now|time\(nil\)|gettimeofday|SuspendingClock|DispatchTime|DispatchWallTime"#
        let numbers =
            #"SystemRandomNumberGenerator|\w*\.random\((?:in|using)|Bool\.random|randomElement|shuffled?\(|UUID\(\)|arc4random"#
        for target in simulated {
            let folder = Self.root.appending(path: "Sources/\(target)")
            let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
            while let file = files.nextObject() as? URL {
                guard file.pathExtension == "swift", !permitted.contains(file.lastPathComponent) else { continue }
                var patterns = [system]
                if file.lastPathComponent != "Timestamp.swift" { patterns.append(times) }
                if file.lastPathComponent != "SystemRandom.swift" { patterns.append(numbers) }
                let found = Self.matches(
                    #"(?m)^(?! *//).*?(?<!\w)(\#(patterns.joined(separator: "|")))"#,
                    in: try String(contentsOf: file, encoding: .utf8))
                #expect(found.isEmpty, "\(file.lastPathComponent): \(found.map { $0[1] })")
            }
        }
    }

    /// The API for programs outside the package. Everything else is `package`.
    @Test func onlyLibrariesArePublic() throws {
        let libraries: Set = ["GatewayClient", "LosslessJSON", "TodoData", "TypedDocuments"]
        let files = try #require(
            FileManager.default.enumerator(at: Self.root.appending(path: "Sources"), includingPropertiesForKeys: nil))
        var found: Set<String> = []
        while let file = files.nextObject() as? URL {
            guard file.pathExtension == "swift", let text = try? String(contentsOf: file, encoding: .utf8),
                !Self.matches(#"(?m)^ *public (?!import )"#, in: text).isEmpty
            else { continue }
            let path = file.pathComponents
            found.insert(path[try #require(path.lastIndex(of: "Sources")) + 1])
        }
        #expect(found == libraries)
    }

    @Test func architecturePageNamesEveryTarget() throws {
        let page = try Self.text("Sources/changebot/changebot.docc/Architecture/Architecture.md")
        for target in try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: "Sources").path) {
            #expect(page.contains("`\(target)`"), "\(target)")
        }
    }

    // MARK: - Names on the pages

    /// The texts of all source files that declare or extend a type, by its name without enclosing types.
    private static let declarations: [String: [String]] = {
        var texts: [String: [String]] = [:]
        for folder in ["Sources", "Tests"] {
            let files = FileManager.default.enumerator(
                at: root.appending(path: folder), includingPropertiesForKeys: nil)
            while let file = files?.nextObject() as? URL {
                guard file.pathExtension == "swift", let text = try? String(contentsOf: file, encoding: .utf8) else {
                    continue
                }
                let names = matches(
                    #"\b(?:struct|class|enum|actor|protocol|extension|typealias) (?:\w+\.)*([A-Z]\w*)"#, in: text)
                for name in Set(names.map { $0[1] }) { texts[name, default: []].append(text) }
            }
        }
        return texts
    }()

    /// All matches with their groups; a group without a match is empty. Swift's own regular expressions are slow in a
    /// debug build.
    private static func matches(_ pattern: String, in text: String) -> [[String]] {
        guard let expression = try? NSRegularExpression(pattern: pattern) else { return [] }
        let whole = text as NSString
        return expression.matches(in: text, range: NSRange(location: 0, length: whole.length)).map { match in
            (0..<match.numberOfRanges).map { group in
                let range = match.range(at: group)
                return range.location == NSNotFound ? "" : whole.substring(with: range)
            }
        }
    }

    /// Whether a file that declares or extends the type declares a member of this name.
    ///
    /// - Parameter labels: The labels of a function's arguments; nil: any.
    private static func isDeclared(_ member: String, of type: String, labels: [String]?) -> Bool {
        let kinds = "func|var|let|struct|class|enum|actor|typealias|case(?: [^\n]*)?"
        let name = member == "init" ? #"\binit\b"# : #"\b(?:\#(kinds)) `?\#(member)\b"#
        let arguments = labels.map { #"[^(\n]*\("# + $0.map { #"\s*\#($0)\b"# }.joined(separator: "[^{]*?,") } ?? ""
        return (declarations[type] ?? []).contains { !matches(name + arguments, in: $0).isEmpty }
    }

    /// `Type.member` and `Type.member(label:)` on pages name declarations in the code.
    @Test func pagesNameDeclaredMembers() throws {
        let folder = Self.root.appending(path: "Sources/changebot/changebot.docc/Architecture")
        var count = 0
        for page in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
            let text = try String(contentsOf: page, encoding: .utf8)
            for match in Self.matches(#"`(?:\w+\.)*([A-Z]\w*)\.(\w+)(?:\(((?:\w+:)*)\))?[^`\n]*`"#, in: text) {
                let (type, member) = (match[1], match[2])
                // Names of files: `Ledger.swift`, `FILE.manifest.json`.
                if ["swift", "md"].contains(member) || type == "FILE" { continue }
                let labels = match[3].isEmpty ? nil : match[3].split(separator: ":").map(String.init)
                count += 1
                #expect(
                    Self.isDeclared(member, of: type, labels: labels), "\(page.lastPathComponent): \(match[0])")
            }
        }
        #expect(count > 100)
    }

    /// `Type` alone on a page names a type that the code declares or extends.
    @Test func pagesNameDeclaredTypes() throws {
        // A type of Swift, and the folder of the traces.
        let foreign: Set = ["Codable", "Golden"]
        let targets = Set(
            try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: "Sources").path))
        let tests = Set(try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: "Tests").path))
        let folder = Self.root.appending(path: "Sources/changebot/changebot.docc/Architecture")
        var count = 0
        for page in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
            let text = try String(contentsOf: page, encoding: .utf8)
            for match in Self.matches("`([A-Z][a-z]+[A-Z]\\w*|[A-Z]{2,}[a-z]\\w*|[A-Z][a-z]+)`", in: text) {
                let type = match[1]
                if foreign.contains(type) || targets.contains(type) || tests.contains(type) { continue }
                count += 1
                #expect(Self.declarations[type] != nil, "\(page.lastPathComponent): \(type)")
            }
        }
        #expect(count > 200)
    }

    @Test func undeclaredMemberIsFound() {
        #expect(Self.isDeclared("write", of: "Round", labels: nil))
        #expect(!Self.isDeclared("writeNothing", of: "Round", labels: nil))
        #expect(!Self.isDeclared("run", of: "NoSuchType", labels: nil))
        #expect(Self.isDeclared("plan", of: "Planner", labels: ["_"]))
        #expect(!Self.isDeclared("plan", of: "Planner", labels: ["nowhere"]))
    }

    /// Calls that start a process, a server or an engine.
    private static let starters = [
        "BotTestBed.with", "ChildProcess(", "EngineTestBed.with", "Program.run(", "RawConnection(", "ScriptedServer {",
        "SecureTestServer(", "TestPostgres", "TestRelay(", "TestServer {",
    ].map { Data($0.utf8) }

    @Test func testsThatStartProcessesTakeSlots() throws {
        let tests = Self.root.appending(path: "Tests")
        let files = try #require(FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil))
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try Data(contentsOf: file)
            guard text.range(of: Data("@Suite".utf8)) != nil, file.lastPathComponent != "ArchitectureTests.swift"
            else { continue }
            #expect(
                text.range(of: Data(".timeLimit(".utf8)) == nil,
                "\(file.lastPathComponent): .timeLimit counts the wait for a processor; use .limitedParallelism(minutes:)"
            )
            guard Self.starters.contains(where: { text.range(of: $0) != nil }) else { continue }
            #expect(
                text.range(of: Data(".limitedParallelism".utf8)) != nil,
                "\(file.lastPathComponent): its suite needs .limitedParallelism, see Tests.md")
        }
    }
}
