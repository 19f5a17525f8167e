import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// Documents and computed values can access only the documents that the rules name: no files, no environment, no other
/// paths of the gateway.
@Suite(.limitedParallelism) struct ConfinementTests {
    private static let secret = "s3cret-in-the-environment"

    private func runOnce(_ bed: CommandTestBed, _ name: String) async throws -> Program.Result {
        let result = try await Program.run(
            [
                "run", "--once", "--gateway", bed.url, "--rules", bed.folder + "/r.yaml", "--state", bed.state,
                "--name", name, "--since", "0",
            ], environment: ["THE_SECRET": Self.secret])
        #expect(!(result.output + result.errors).contains(Self.secret), "\(name)")
        return result
    }

    /// Programs that try to escape: each is refused when it is loaded, fails, or finds nothing.
    private static let programs = [
        "$ENV.THE_SECRET", "$ENV", "env", "env.THE_SECRET", #""\(env)""#, "input", "[inputs]", "input_filename",
        #"include "secret"; 1"#, #"import "./secret" as $s; $s"#, "get_search_list", #""secret" | modulemeta"#,
        "[env, $ENV] | tojson", "debug(env)", "env | stderr", "env | halt_error", "halt", "$__prog_args",
        "@json \"\\(env | tostring)\"", "getpath([\"env\"])", "[builtins[] | select(startswith(\"get\"))]",
    ]

    @Test func programsSeeNeitherEnvironmentNorFiles() async throws {
        try await CommandTestBed.with(rules: "") { bed in
            for name in ["secret.json", "secret.jq"] {
                try Data("\"\(Self.secret)\"".utf8).write(to: URL(fileURLWithPath: bed.folder + "/" + name))
            }
            func write(_ programs: [String]) throws {
                let rules = programs.enumerated().map { number, program in
                    let text = program.replacingOccurrences(of: "'", with: "''")
                    return "  - { name: r\(number), when: { n: \(number), ran: { $exists: false } },"
                        + " then: [{ merge: { x: { jq: '\(text)' }, ran: true } }] }\n"
                }
                try bed.write(rules: rules.joined())
            }
            // Some are refused when they are loaded. The message names their lines; the first rule is on line 3.
            try write(Self.programs)
            let refusal = try await runOnce(bed, "refused")
            #expect(refusal.code == 65, "\(refusal.errors)")
            let places = refusal.errors.split(separator: "\n").compactMap { line in
                line.split(separator: ":").dropFirst().first.flatMap { Int($0) }
            }
            let refused = Set(places.map { $0 - 3 })
            #expect(!refused.isEmpty && refused.isSubset(of: Set(Self.programs.indices)), "\(refusal.errors)")
            // All others run, each on its own document: they fail or find nothing.
            let loaded = Self.programs.indices.filter { !refused.contains($0) }.map { Self.programs[$0] }
            try write(loaded)
            try await bed.put(loaded.indices.map { #"{"_id":"a\#($0)","n":\#($0)}"# })
            let result = try await runOnce(bed, "bot")
            #expect([0, 1].contains(result.code), "\(result.code) \(result.errors)")
            let deadLetters = try bed.deadLetters(of: "bot")
            for deadLetter in deadLetters {
                #expect(!String(decoding: deadLetter.bytes, as: UTF8.self).contains(Self.secret))
            }
            let failed = Set(deadLetters.compactMap { $0.root["id"]?.string })
            for (number, program) in loaded.enumerated() {
                let document = try #require(try await bed.document(DocumentID("a\(number)")))
                #expect(failed.contains("a\(number)") || document.root["ran"] != nil, "\(program)")
                #expect(!String(decoding: document.bytes, as: UTF8.self).contains(Self.secret), "\(program)")
            }
        }
    }

    @Test func documentsCannotNameFilesOutsideTheFolder() async throws {
        let names = [
            "../secret.txt", "sub/../../secret.txt", "/etc/hostname", "link.txt", "linked/secret.txt", "..", "",
        ]
        let documents = names.enumerated().map { #"{"_id":"d\#($0)","file":"\#($1)"}"# }
        try await CommandTestBed.with(documents + [#"{"_id":"good","file":"apple.txt"}"#], rules: "") { bed in
            let inside = bed.folder + "/in"
            try FileManager.default.createDirectory(atPath: inside, withIntermediateDirectories: true)
            for path in [bed.folder + "/secret.txt", inside + "/apple.txt"] {
                try Data(Self.secret.utf8).write(to: URL(fileURLWithPath: path))
            }
            for (link, target) in [("link.txt", "/secret.txt"), ("linked", "")] {
                try FileManager.default.createSymbolicLink(
                    atPath: inside + "/" + link, withDestinationPath: bed.folder + target)
            }
            let action = "attach: { name: note, folder: in, file: { jq: .file } }"
            try bed.write(rules: "  - { name: r, when: { file: { $exists: true } }, then: [{ \(action) }] }\n")
            #expect(try await runOnce(bed, "changebot").code == 1)
            for number in names.indices {
                let document = try await bed.document(DocumentID("d\(number)"))
                #expect(document != nil && document?.root["_attachments"] == nil, "\(names[number])")
            }
            #expect(try await bed.document("good")?.root["_attachments"]?["note"] != nil)
            #expect(try bed.deadLetterIDs().count == names.count)
        }
    }

    /// An id is one segment of a path, whatever it contains. Ids that the gateway reserves can't be put.
    @Test func putsIntoReservedIDsAreRefused() async throws {
        let plain = ["a/b", "../x", "x?rev=1-a&new_edits=false", "%2e%2e%2fx", "x#y", "ü \u{1F600}"]
        let reserved = ["_local/changebot.changebot", "_design/x", "_user/amy", "_bulk_docs", ""]
        let documents = (plain + reserved).enumerated().map { number, target in
            #"{"_id":"d\#(number)","type":"t","target":"\#(target)"}"#
        }
        let rules =
            "  - { name: r, when: { type: t }, then: [{ put: { id: { jq: .target }, document: { of: { jq: ._id } } } }] }\n"
        try await CommandTestBed.with(documents, rules: rules) { bed in
            #expect(try await bed.runOnce().code == 1)
            for (number, id) in plain.enumerated() {
                #expect(try await bed.document(DocumentID(id))?.root["of"]?.string == "d\(number)", "\(id)")
            }
            let deadLettered = Set(try bed.deadLetterIDs().compactMap(\.self))
            #expect(deadLettered == Set(reserved.indices.map { "d\($0 + plain.count)" }))
            let mark = try await bed.withGateway { try await $0.localDocument("changebot.changebot") }
            #expect(mark.map { String(decoding: $0.body, as: UTF8.self).contains("identity") } == true)
        }
    }
}
