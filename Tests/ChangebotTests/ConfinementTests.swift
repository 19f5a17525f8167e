import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// Documents and computed values reach nothing but the documents that the rules name: no files, no environment, no
/// other paths of the gateway.
@Suite(.timeLimit(.minutes(5))) struct ConfinementTests {
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

    /// Programs that look for a way out: each is refused when it is loaded, fails, or finds nothing.
    private static let programs = [
        "$ENV.THE_SECRET", "$ENV", "env", "env.THE_SECRET", #""\(env)""#, "input", "[inputs]", "input_filename",
        #"include "secret"; 1"#, #"import "./secret" as $s; $s"#, "get_search_list", #""secret" | modulemeta"#,
        "[env, $ENV] | tojson", "debug(env)", "env | stderr", "env | halt_error", "halt", "$__prog_args",
        "@json \"\\(env | tostring)\"", "getpath([\"env\"])", "[builtins[] | select(startswith(\"get\"))]",
    ]

    @Test func noProgramSeesTheEnvironmentOrAFile() async throws {
        try await CommandTestBed.with([#"{"_id":"a","type":"t"}"#], rules: "") { bed in
            for name in ["secret.json", "secret.jq"] {
                try Data("\"\(Self.secret)\"".utf8).write(to: URL(fileURLWithPath: bed.folder + "/" + name))
            }
            for (number, program) in Self.programs.enumerated() {
                let text = program.replacingOccurrences(of: "'", with: "''")
                try bed.write(
                    rules:
                        "  - { name: r, when: { type: t, x: { $exists: false } }, then: [{ merge: { x: { jq: '\(text)' } } }] }\n"
                )
                let result = try await runOnce(bed, "bot\(number)")
                #expect([0, 1, 65].contains(result.code), "\(program): \(result.code) \(result.errors)")
                let document = try await bed.document("a")
                #expect(
                    document.map { !String(decoding: $0.bytes, as: UTF8.self).contains(Self.secret) } == true,
                    "\(program)")
                let deadLetters = try await bed.command("dead-letters", "export", name: "bot\(number)")
                #expect(!deadLetters.output.contains(Self.secret), "\(program)")
                if document?.root["x"] != nil { try await bed.put([#"{"_id":"a","type":"t"}"#]) }
            }
        }
    }

    @Test func noDocumentNamesAFileOutsideTheFolder() async throws {
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
            #expect(try await bed.deadLetterIDs().count == names.count)
        }
    }

    /// An id is one segment of a path, whatever it holds; what the gateway keeps for itself is no document.
    @Test func noDocumentIsPutWhereNoDocumentMayBe() async throws {
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
            let deadLettered = Set(try await bed.deadLetterIDs().compactMap(\.self))
            #expect(deadLettered == Set(reserved.indices.map { "d\($0 + plain.count)" }))
            let mark = try await bed.withGateway { try await $0.localDocument("changebot.changebot") }
            #expect(mark.map { String(decoding: $0.body, as: UTF8.self).contains("identity") } == true)
        }
    }
}
